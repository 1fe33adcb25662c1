/** Starts Redis and radosgw, prints their addresses in one line of JSON, and waits to be killed. */
import { startRadosgw } from "../servers/radosgw.ts";
import { startRedis } from "../servers/redis.ts";

const [redis, s3] = await Promise.all([startRedis(), startRadosgw()]);
process.stdout.write(`${JSON.stringify([redis.url, s3.endpoint])}\n`);

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createBucket, startRadosgw } from "./radosgw.ts";
import { startRedis } from "./redis.ts";
import { temporaryFolder } from "../temporary-folder.ts";

test("[B4] a service that is paused is silent, one that was killed refuses, and both come back", async (context) => {
  const [redis, s3] = await Promise.all([startRedis(), startRadosgw()]);
  context.after(() => Promise.all([redis.stop(), s3.stop()]));
  const bucket = await createBucket(s3);
  for (const [service, url] of [
    [redis, redis.url],
    [s3, s3.endpoint],
  ] as const) {
    assert.equal(await answer(url), "answers", url);
    service.pause();
    assert.equal(await answer(url), "is silent", url);
    service.resume();
    assert.equal(await answer(url), "answers", url);
    service.pause();
    await service.kill();
    assert.equal(await answer(url), "refuses", url);
    await service.start();
    assert.equal(await answer(url), "answers", url);
  }
  assert.notEqual(await createBucket(s3), bucket, "the gateway changes buckets again");
});

test("[B3] services end with a process that is killed, and leave no folder", async (context) => {
  const folder = await temporaryFolder(context);
  const script = fileURLToPath(new URL("../children/start-servers.ts", import.meta.url));
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const urls = JSON.parse(line.toString()) as string[];
  for (const url of urls) assert.equal(await answer(url), "answers", url);
  assert.ok(readdirSync(folder).length >= 2);
  child.kill("SIGKILL");
  const isOver = async (): Promise<boolean> =>
    readdirSync(folder).length === 0 && (await Promise.all(urls.map(answer))).every((how) => how === "refuses");
  // The servers notice it by a pipe that closes, which can take some time. The test's own time limit ends this.
  while (!(await isOver())) await pause(20);
});

function answer(url: string): Promise<"answers" | "is silent" | "refuses"> {
  const { hostname, port, protocol } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<"answers" | "is silent" | "refuses">();
  const socket = connect(Number(port), hostname, () => {
    socket.write(protocol === "redis:" ? "PING\r\n" : `GET / HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`);
  });
  socket.setTimeout(300, () => resolve("is silent"));
  socket.once("data", () => resolve("answers"));
  socket.once("error", () => resolve("refuses"));
  return promise.finally(() => socket.destroy());
}

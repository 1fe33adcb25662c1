/**
 * The cache of all servers, in Redis, behind one in the memory of this process. A value in Redis is compressed, and expires some
 * time after it was set. While Redis is unreachable, each server has only what it found itself.
 */
import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import { limits } from "../../domain/limits.ts";
import { BoundedCache } from "../../system/bounded-cache.ts";
import type { SharedCache } from "../shared-cache.ts";
import type { RedisConnection } from "./redis-connection.ts";

const compress = promisify(deflateRaw);
const decompress = promisify(inflateRaw);

export function redisCache(connection: RedisConnection): SharedCache {
  const own = new BoundedCache<string>(limits.sharedCacheCharactersMax);
  const keep = (key: string, text: string): void => own.set(key, text, key.length + text.length);
  return {
    async get(key) {
      const known = own.get(key);
      if (known !== undefined) return known;
      const text = await readShared(connection, key).catch(() => null);
      if (text !== null) keep(key, text);
      return text;
    },
    set(key, text) {
      keep(key, text);
      writeShared(connection, key, text).catch(() => undefined);
    },
  };
}

async function readShared(connection: RedisConnection, key: string): Promise<string | null> {
  const found = await connection.ask((client) => client.get(redisKey(key)));
  if (typeof found !== "string") return null;
  // Redis has what some process wrote there, so its size is not trusted.
  const bytes = await decompress(Buffer.from(found, "base64"), { maxOutputLength: limits.sharedCacheTextBytesMax });
  return bytes.toString();
}

async function writeShared(connection: RedisConnection, key: string, text: string): Promise<void> {
  if (Buffer.byteLength(text) > limits.sharedCacheTextBytesMax || !connection.isConnected) return;
  const value = (await compress(text, { level: 1 })).toString("base64");
  await connection.ask((client) => client.set(redisKey(key), value, { expiration: { type: "PX", value: keepMs } }));
}

const keepMs = limits.sharedCacheKeepMs;

function redisKey(key: string): string {
  return `aptove:cache:${key}`;
}

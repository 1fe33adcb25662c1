/**
 * Puts more and more blobs, a few at the same time. Arguments: the folder, the first version, the last one (without it:
 * until it is killed). Prints the key of a blob as soon as its put is acknowledged.
 */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fileBlobs } from "../../src/blobs/files/file-blobs.ts";

const names = ["turns/1/opening", "turns/1/run", "turns/2/state"];

/** Returns the three keys of a version. */
export function keysOfVersion(version: number): string[] {
  return names.map((name) => `${name}-${version}`);
}

/** Returns the bytes for a key, up to 200 KB. A part of them, or a mixture of two, belongs to no key. */
export function blobOfKey(key: string): Buffer {
  return Buffer.alloc(1_000 + ((Number(key.split("-")[1]) * 7_919) % 200_000), `${key} `);
}

async function putVersions(folder: string, firstVersion: number, lastVersion: number): Promise<void> {
  const store = fileBlobs({ folder: join(folder, "blobs") });
  const putOne = async (name: string): Promise<void> => {
    for (let version = firstVersion; version <= lastVersion; version += 1) {
      const key = `${name}-${version}`;
      await store.put(key, blobOfKey(key));
      writeSync(1, `${key}\n`);
    }
  };
  await Promise.all(names.map(putOne));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder = "", firstVersion, lastVersion = Infinity] = process.argv.slice(2);
  await putVersions(folder, Number(firstVersion), Number(lastVersion));
}

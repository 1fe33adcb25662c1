import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import {
  createDurableFile,
  createDurableFolder,
  replaceDurableFile,
  writePrivateFile,
  writePrivateStream,
} from "./durable-files.ts";
import { systemCode } from "./system-error.ts";

function mode(path: string): number {
  return statSync(path).mode & 0o777;
}

test("[B6] a private file is whole or not there, and only its owner's", async (t) => {
  const dir = await temporaryFolder(t);
  writePrivateFile(join(dir, "secret"), "one");
  writePrivateFile(join(dir, "secret"), "two");
  assert.equal(readFileSync(join(dir, "secret"), "utf8"), "two");
  assert.equal(mode(join(dir, "secret")), 0o600);
  mkdirSync(join(dir, "folder"));
  assert.throws(() => writePrivateFile(join(dir, "folder"), "x"));
  assert.deepEqual(readdirSync(dir).toSorted(), ["folder", "secret"]);
  assert.ok(!existsSync(join(dir, "absent")));
});

test("[B6] content that breaks off leaves the old private file", async (t) => {
  const dir = await temporaryFolder(t);
  const path = join(dir, "secret");
  await writePrivateStream(path, Readable.from(["on", "e"]));
  assert.equal(mode(path), 0o600);
  const broken = Readable.from(
    (function* () {
      yield "two";
      throw new Error("it broke off");
    })(),
  );
  await assert.rejects(writePrivateStream(path, broken), { message: "it broke off" });
  assert.equal(readFileSync(path, "utf8"), "one");
  assert.deepEqual(readdirSync(dir), ["secret"]);
});

test("[B6] a stream of content follows a link, also one to a file that does not exist yet, and the link stays", async (t) => {
  const dir = await temporaryFolder(t);
  writeFileSync(join(dir, "there"), "before");
  mkdirSync(join(dir, "folder"));
  for (const [link, target] of [
    ["to-file", "there"],
    ["to-none", "folder/new"],
  ] as const) {
    symlinkSync(target, join(dir, link));
    await writePrivateStream(join(dir, link), Readable.from(["after"]));
    assert.equal(readlinkSync(join(dir, link)), target);
    assert.equal(readFileSync(join(dir, target), "utf8"), "after");
  }
  assert.deepEqual(readdirSync(dir).toSorted(), ["folder", "there", "to-file", "to-none"]);
});

test("[B6] a stream of content goes through a pipe, which stays one, and no folder is replaced", async (t) => {
  const dir = await temporaryFolder(t);
  const pipe = join(dir, "pipe");
  execFileSync("mkfifo", [pipe]);
  const [read] = await Promise.all([readFile(pipe, "utf8"), writePrivateStream(pipe, Readable.from(["on", "e"]))]);
  assert.equal(read, "one");
  assert.ok(statSync(pipe).isFIFO());
  mkdirSync(join(dir, "folder"));
  await assert.rejects(writePrivateStream(join(dir, "folder"), Readable.from(["x"])), { code: "EISDIR" });
  assert.deepEqual(readdirSync(dir).toSorted(), ["folder", "pipe"]);
});

test("[B3] a file is created once, and large content is complete", async (t) => {
  const path = join(await temporaryFolder(t), "a");
  const bytes = Buffer.alloc(1_048_577, "abc");
  await createDurableFile(path, bytes);
  assert.ok(readFileSync(path).equals(bytes));
  assert.equal(mode(path), 0o600);
  await assert.rejects(createDurableFile(path, bytes), (error) => systemCode(error) === "EEXIST");
});

test("[B3] a file is replaced as a whole, even if a killed writer left its temporary file", async (t) => {
  const path = join(await temporaryFolder(t), "a");
  writeFileSync(`${path}.new`, "half");
  await replaceDurableFile(path, "one");
  await replaceDurableFile(path, "two");
  assert.equal(readFileSync(path, "utf8"), "two");
  assert.ok(!existsSync(`${path}.new`));
  mkdirSync(`${path}.folder`);
  await assert.rejects(replaceDurableFile(`${path}.folder`, "x"));
  assert.ok(!existsSync(`${path}.folder.new`));
});

test("[B6] a folder is created for its owner only, and an existing one stays", async (t) => {
  const path = join(await temporaryFolder(t), "a");
  await createDurableFolder(path);
  writeFileSync(join(path, "kept"), "");
  await createDurableFolder(path);
  assert.equal(mode(path), 0o700);
  assert.deepEqual(readdirSync(path), ["kept"]);
});

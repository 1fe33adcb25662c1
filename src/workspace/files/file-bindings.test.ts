import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile, stat, writeFile } from "node:fs/promises";
import { test, type TestContext } from "node:test";
import { rejectionOf } from "../../../testing/refusals.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { BindingStore } from "../binding-store.ts";
import { dataFolderAt, type DataFolder } from "../../configuration/data-folder.ts";
import { fileBindings } from "./file-bindings.ts";

async function open(context: TestContext): Promise<{ store: BindingStore; folder: DataFolder }> {
  const folder = dataFolderAt(await temporaryFolder(context));
  return { store: fileBindings(folder), folder };
}

test("[W1] [B6] bindings.toml is easy to read, and only its owner can read it", async (t) => {
  const { store, folder } = await open(t);
  const id = randomUUID();
  await store.bind("Ada's phone", id);
  await store.bind("tablet", "default");
  assert.equal(
    await readFile(folder.bindings, "utf8"),
    `# The workspace of each device. aptove writes this file.
format = 1

[bindings]
"Ada's phone" = "${id}"
tablet = "default"
`,
  );
  assert.equal((await stat(folder.bindings)).mode & 0o777, 0o600);
});

test("[W2] a file that a person wrote is accepted, and unknown keys stay", async (t) => {
  const { store, folder } = await open(t);
  const id = randomUUID();
  await writeFile(folder.bindings, `note = "mine"\n[bindings]\n"device-id-abc123" = "${id}"\n`);
  assert.equal(await store.resolve("device-id-abc123"), id);
  await store.bind("b", "default");
  assert.match(await readFile(folder.bindings, "utf8"), /^note = "mine"$/m);
  assert.equal((await store.list()).length, 2);
});

test("[W2] damaged bindings are an error with the position and the fix for every call, and stay unchanged", async (t) => {
  const { store, folder } = await open(t);
  const cases: [string | Uint8Array, RegExp][] = [
    ['[bindings]\n"a" = "def', /bindings\.toml:2:\d+: /],
    ['[bindings]\n"a" = "default"\n"a" = "default"\n', /bindings\.toml:3:\d+: /],
    ['[bindings]\n"phone" = "../../etc"\n', /bindings\."phone" is not the id of a workspace/],
    ['[bindings]\n"phone" = 7\n', /bindings\."phone" is not the id of a workspace/],
    ['bindings = "none"\n', /bindings must be a table/],
    ["[[bindings]]\na = 1\n", /bindings must be a table/],
    [new Uint8Array(64), /bindings\.toml/],
    [Uint8Array.of(0xc3, 0x28), /is not UTF-8 text/],
  ];
  for (const [content, message] of cases) {
    await writeFile(folder.bindings, content);
    const calls = [
      () => store.resolve("phone"),
      () => store.settle("phone", () => assert.fail("no choice may be made")),
      () => store.bind("phone", "default"),
      () => store.unbind("phone"),
      () => store.unbindWorkspace("default"),
      () => store.list(),
    ];
    for (const call of calls) {
      const { code, detail } = await rejectionOf(call());
      assert.equal(code, "bindings_damaged");
      assert.match(detail, message);
      assert.ok(detail.startsWith(folder.bindings), detail);
      assert.match(detail, /; correct the file, or move it to another folder/);
    }
    assert.deepEqual(await readFile(folder.bindings), Buffer.from(content));
  }
});

test("[B2] [W2] bindings of a newer version are refused and stay unchanged", async (t) => {
  const { store, folder } = await open(t);
  await writeFile(folder.bindings, "format = 2\n");
  for (const call of [store.resolve("a"), store.bind("a", "default")]) {
    await assert.rejects(
      call,
      (error: AptoveError) => error.code === "data_newer" && /update aptove/.test(error.detail),
    );
  }
  assert.equal(await readFile(folder.bindings, "utf8"), "format = 2\n");
});

test("[W2] a call that changes nothing writes nothing", async (t) => {
  const { store, folder } = await open(t);
  assert.equal(await store.unbind("a"), false);
  await assert.rejects(stat(folder.bindings), /ENOENT/);
  await store.bind("a", "default");
  const before = await stat(folder.bindings, { bigint: true });
  await store.bind("a", "default");
  assert.equal((await stat(folder.bindings, { bigint: true })).ino, before.ino);
});

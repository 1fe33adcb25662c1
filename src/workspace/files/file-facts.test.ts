import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { dataFolderAt } from "../../configuration/data-folder.ts";
import type { FactStore } from "../../domain/fact.ts";
import { limits } from "../../domain/limits.ts";
import { factStoreSuite } from "../fact-store.suite.ts";
import { fileFacts } from "./file-facts.ts";
import { fileWorkspaces } from "./file-workspaces.ts";

const id = "default";

async function opened(context: TestContext): Promise<{ store: FactStore; reopen: () => FactStore; folder: string }> {
  const data = dataFolderAt(await temporaryFolder(context));
  await fileWorkspaces(data).create({ id, at: 0 });
  return { store: fileFacts(data), reopen: () => fileFacts(data), folder: join(data.workspaces, id, "memory") };
}

factStoreSuite("facts in files", opened);

test("[M3] a person may write, edit and delete the files", async (t) => {
  const { store, folder } = await opened(t);
  writeFileSync(join(folder, "our-style.md"), "\uFEFFWe use tabs.\r\n");
  const [fact] = (await store.read(id))?.facts ?? [];
  assert.deepEqual([fact?.id, fact?.text, fact?.createdAt, fact?.source], ["our-style", "We use tabs.", null, null]);
  const at = Date.UTC(2026, 1, 15);
  const source = { sessionId: "0199c2a4-7b1e-7c3d-9f00-1a2b3c4d5e6f", turnId: "0199c2a4-7b1e-7c3d-9f00-1a2b3c4d5e70" };
  const made = await store.add(id, { text: "We deploy on Fridays.", at, source });
  const file = join(folder, `${made.id}.md`);
  const written = readFileSync(file, "utf8");
  assert.equal(
    written,
    `---\nformat: 1\ncreated_at: 2026-02-15T00:00:00.000Z\nsession: ${source.sessionId}\nturn: ${source.turnId}\n---\nWe deploy on Fridays.\n`,
  );
  writeFileSync(file, written.replace("Fridays", "Mondays").replace("---\nWe", "mine: yes\n---\nWe"));
  const edited = (await store.read(id))?.facts.find((one) => one.id === made.id);
  assert.deepEqual([edited?.text, edited?.createdAt, edited?.source], ["We deploy on Mondays.", at, source]);
  await store.change(id, { id: made.id, text: "We deploy daily." });
  assert.match(readFileSync(file, "utf8"), /^mine: yes\n---\nWe deploy daily\.\n$/m);
  await store.forget(id, "our-style");
  assert.deepEqual(readdirSync(folder), [`${made.id}.md`]);
});

test("[M3] a file that cannot be used is named with its fault, and hides nothing else", async (t) => {
  const { store, folder } = await opened(t);
  const good = await store.add(id, { text: "good", at: 0, source: null });
  const outside = join(folder, "..", "secret.txt");
  writeFileSync(outside, "secret");
  symlinkSync(outside, join(folder, "link.md"));
  mkdirSync(join(folder, "folder.md"));
  if (process.platform !== "win32") execFileSync("mkfifo", [join(folder, "pipe.md")]);
  writeFileSync(join(folder, "bytes.md"), Buffer.from([0xff, 0xfe, 0x41]));
  writeFileSync(join(folder, "open.md"), "---\nformat: 1\nno end");
  writeFileSync(join(folder, "newer.md"), "---\nformat: 2\n---\nx");
  writeFileSync(join(folder, "time.md"), "---\ncreated_at: yesterday\n---\nx");
  writeFileSync(join(folder, "empty.md"), "\n");
  writeFileSync(join(folder, "long.md"), "x".repeat(limits.factBytesMax + 1));
  writeFileSync(join(folder, "huge.md"), "x".repeat(limits.factFileBytesMax + 1));
  writeFileSync(join(folder, "two words.md"), "x");
  writeFileSync(join(folder, "notes.txt"), "is no fact");
  const memory = await store.read(id);
  assert.deepEqual(memory?.facts, [good]);
  const faults = new Map(memory?.faults.map(({ name, reason }) => [name, reason]));
  const expected: Record<string, RegExp> = {
    link: /no regular file/,
    folder: /no regular file/,
    ...(process.platform === "win32" ? {} : { pipe: /no regular file/ }),
    bytes: /not UTF-8/,
    open: /have no end/,
    newer: /format 2/,
    time: /created_at/,
    empty: /must have a text/,
    long: /at most 4096/,
    huge: /more than 16384/,
    "two words": /the name of its file/,
  };
  assert.deepEqual([...faults.keys()].toSorted(), Object.keys(expected).toSorted());
  for (const [name, reason] of Object.entries(expected)) assert.match(faults.get(name) ?? "", reason, name);
  await assert.rejects(store.change(id, { id: "newer", text: "y" }), { code: "fact_invalid" });
  assert.deepEqual(await store.forget(id, "link"), ["link"]);
  assert.ok(existsSync(outside), "a link is removed, and not what it leads to");
});

test("[M3] [B4] what a killed writer and an editor left of a fact goes with it", async (t) => {
  const { store, folder } = await opened(t);
  const { id: fact } = await store.add(id, { text: "gone", at: 0, source: null });
  const other = await store.add(id, { text: "stays", at: 0, source: null });
  for (const name of [`${fact}.md.new`, `${fact}.md~`, `.${fact}.md.swp`]) writeFileSync(join(folder, name), "gone");
  await store.forget(id, fact);
  assert.deepEqual(readdirSync(folder), [`${other.id}.md`]);
});

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test, type TestContext } from "node:test";
import { childPath } from "../../../../testing/children/path.ts";
import { hasCode } from "../../../../testing/refusals.ts";
import { temporaryFolder } from "../../../../testing/temporary-folder.ts";
import type { FileBundle, PlannedChange } from "../../../domain/file-bundle.ts";
import { sha256 } from "../../../domain/ids.ts";
import { repairWorkingCopy, writeChanges } from "./write-changes.ts";

const files = { "a.txt": "old a\n", "src/b.txt": "old b\n", "src/gone.txt": "old gone\n" };
const bundle: FileBundle = {
  root: ".",
  files: [
    { path: "a.txt", operation: "replace", content: "new a\n" },
    { path: "deep/er/new.txt", operation: "create", content: "new\n" },
    { path: "src/gone.txt", operation: "delete" },
    { path: "src/b.txt", operation: "replace", content: "new b\n" },
  ],
};
const after = { "a.txt": "new a\n", "deep/er/new.txt": "new\n", "src/b.txt": "new b\n" };

async function workingCopy(t: TestContext): Promise<string> {
  const root = await temporaryFolder(t);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

/** Every file by path; folders without a file too. */
function treeOf(root: string): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const full = join(entry.parentPath, entry.name);
    const path = relative(root, full);
    if (entry.isFile()) tree[path] = readFileSync(full, "utf8");
    else if (readdirSync(full).length === 0) tree[`${path}/`] = "";
  }
  return tree;
}

function change(path: string, before: string | null, next: string | null): PlannedChange {
  const content = new TextEncoder().encode(before ?? "");
  return { path, before: before === null ? null : { content, sha256: sha256(content) }, after: next };
}

const changes = [
  change("a.txt", files["a.txt"], after["a.txt"]),
  change("deep/er/new.txt", null, "new\n"),
  change("src/gone.txt", files["src/gone.txt"], null),
  change("src/b.txt", files["src/b.txt"], after["src/b.txt"]),
];

test("[X7] every change of a bundle is written, and nothing else is left behind", async (t) => {
  const root = await workingCopy(t);
  chmodSync(join(root, "a.txt"), 0o755);
  writeChanges(root, changes);
  assert.deepEqual(treeOf(root), after);
  assert.equal(statSync(join(root, "a.txt")).mode & 0o777, 0o755);
});

for (let at = 0; at < changes.length; at++) {
  test(`[X7] a fault before file ${at} of 4 leaves everything as it was`, async (t) => {
    const root = await workingCopy(t);
    const fail = (index: number): void => {
      if (index === at) throw Object.assign(new Error("no space"), { code: "ENOSPC", path: "x" });
    };
    assert.throws(() => writeChanges(root, changes, fail), hasCode("storage_full", /nothing was changed/));
    assert.deepEqual(treeOf(root), files);
  });

  test(`[X7] a kill -9 before file ${at} of 4 is rolled back by the next apply`, async (t) => {
    const root = await workingCopy(t);
    const child = childPath("apply-and-die.ts");
    const died = spawnSync(process.execPath, [child, root, JSON.stringify(bundle), String(at)], { encoding: "utf8" });
    assert.equal(died.signal, "SIGKILL", died.stderr);
    assert.ok(existsSync(join(root, ".aptove-apply", "journal.json")));
    const restored = repairWorkingCopy(root);
    assert.equal(restored?.length, at);
    assert.deepEqual(treeOf(root), files);
    writeChanges(root, changes);
    assert.deepEqual(treeOf(root), after);
  });
}

test("[X7] a rollback leaves files that were edited after the crash", async (t) => {
  const root = await workingCopy(t);
  const child = childPath("apply-and-die.ts");
  spawnSync(process.execPath, [child, root, JSON.stringify(bundle), "3"]);
  writeFileSync(join(root, "a.txt"), "edited by hand\n");
  assert.deepEqual(repairWorkingCopy(root), ["deep/er/new.txt", "src/gone.txt"]);
  assert.deepEqual(treeOf(root), { ...files, "a.txt": "edited by hand\n" });
});

test("[X7] a crash after the last file was moved leaves only staged files to delete", async (t) => {
  const root = await workingCopy(t);
  writeChanges(root, changes);
  mkdirSync(join(root, ".aptove-apply"));
  writeFileSync(join(root, ".aptove-apply", "committed.json"), "{}");
  assert.deepEqual(repairWorkingCopy(root), []);
  assert.deepEqual(treeOf(root), after);
});

test("[X7] a file that changes while the bundle is written is refused, and nothing is written", async (t) => {
  const root = await workingCopy(t);
  const edit = (index: number): void => {
    if (index === 2) writeFileSync(join(root, "src/b.txt"), "edited\n");
  };
  assert.throws(() => writeChanges(root, changes, edit), hasCode("file_bundle_conflict", /src\/b.txt/));
  assert.deepEqual(treeOf(root), { ...files, "src/b.txt": "edited\n" });
});

test("[X7] a new file that another program creates meanwhile is not overwritten", async (t) => {
  const root = await workingCopy(t);
  const make = (index: number): void => {
    if (index !== 1) return;
    mkdirSync(join(root, "deep/er"), { recursive: true });
    writeFileSync(join(root, "deep/er/new.txt"), "theirs\n");
  };
  assert.throws(() => writeChanges(root, changes, make), /changed while the bundle was being written/);
  assert.deepEqual(treeOf(root), { ...files, "deep/er/new.txt": "theirs\n" });
});

test("[X7] two applies at once: the second is refused while the first lives", async (t) => {
  const root = await workingCopy(t);
  mkdirSync(join(root, ".aptove-apply"));
  writeFileSync(join(root, ".aptove-apply", "owner"), String(process.ppid));
  for (const act of [() => repairWorkingCopy(root), () => writeChanges(root, changes)]) {
    assert.throws(act, new RegExp(`another apply \\(process ${process.ppid}\\)`));
  }
  assert.deepEqual(readFileSync(join(root, "a.txt"), "utf8"), files["a.txt"]);
});

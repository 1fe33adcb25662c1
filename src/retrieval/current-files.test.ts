import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { sha256 } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import { openWorkingCopy } from "./current-files.ts";

test("[X6] a working copy shows what its files have now, and follows no link out of it", async (t) => {
  const folder = await temporaryFolder(t);
  const root = join(folder, "copy");
  mkdirSync(join(root, ".git"), { recursive: true });
  mkdirSync(join(root, "src"));
  writeFileSync(join(folder, "secret.txt"), "secret");
  writeFileSync(join(root, "src", "a.ts"), "let a;\n");
  writeFileSync(join(root, "big.ts"), "x".repeat(limits.indexedFileBytesMax + 1));
  symlinkSync(folder, join(root, "out"));
  const copy = openWorkingCopy(root);
  assert.deepEqual(await copy?.look("src/a.ts"), { hash: sha256("let a;\n"), text: "let a;\n" });
  assert.deepEqual(await copy?.look("big.ts"), { hash: null, text: null });
  for (const path of ["none.ts", "src", "out/secret.txt", "../secret.txt", "src/../../secret.txt"]) {
    assert.equal(await copy?.look(path), null, path);
  }
  assert.equal(openWorkingCopy(join(root, "src")), null, "its paths differ from those of the index");
  assert.equal(openWorkingCopy(join(folder, "none")), null);
});

import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../../testing/temporary-folder.ts";
import type { ToolCallView } from "../../../domain/tool.ts";
import { WrittenFiles } from "./written-files.ts";

const viewOf = (path: string, kind: ToolCallView["kind"] = "edit"): ToolCallView => {
  return { title: "t", kind, locations: [{ path }], content: [], permission: null };
};

test("[L2] a file that another program changed between two calls is not put back, and a removed one is made again", async (t) => {
  const folder = await temporaryFolder(t);
  const root = join(folder, "root");
  mkdirSync(root);
  const path = (name: string): string => join(root, name);
  for (const name of ["a", "b", "gone"]) writeFileSync(path(name), "0");
  const written = new WrittenFiles();
  const write = (turnId: string, name: string, text: string): Promise<void> =>
    written.during({ turnId, root, view: viewOf(path(name)) }, async () => writeFileSync(path(name), text));
  await write("t1", "a", "1");
  await write("t1", "a", "2");
  await write("t1", "b", "1");
  writeFileSync(path("b"), "mine");
  await write("t2", "b", "2");
  await written.during({ turnId: "t2", root, view: viewOf(path("gone"), "delete") }, async () => rmSync(path("gone")));
  const back = (...ids: string[]) => {
    const { changes, changed } = written.puttingBack(root, new Set(ids));
    return [changes.map((change) => [change.path, change.after]), changed];
  };
  assert.deepEqual(back("t1", "t2"), [
    [
      ["a", "0"],
      ["gone", "0"],
    ],
    ["b"],
  ]);
  assert.deepEqual(back("t2"), [
    [
      ["b", "mine"],
      ["gone", "0"],
    ],
    [],
  ]);
  written.forget(["t1", "t2"]);
  assert.deepEqual(back("t1", "t2"), [[], []]);
});

test("[P5] [L2] only files inside of the working copy are put back, whatever a link says, and a call keeps its result", async (t) => {
  const folder = await temporaryFolder(t);
  const root = join(folder, "root");
  mkdirSync(root);
  writeFileSync(join(folder, "outside"), "0");
  symlinkSync(join(folder, "outside"), join(root, "link"));
  writeFileSync(join(root, "bytes"), Buffer.from([0xff, 0xfe]));
  const written = new WrittenFiles();
  for (const path of [join(root, "link"), join(root, "bytes"), root]) {
    const run = async (): Promise<string> => {
      if (path !== root) writeFileSync(path, "1");
      return "done";
    };
    assert.equal(await written.during({ turnId: "t", root, view: viewOf(path) }, run), "done");
  }
  assert.deepEqual(written.puttingBack(root, new Set(["t"])), { changes: [], changed: [] });
});

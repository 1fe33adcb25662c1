import assert from "node:assert/strict";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { toolWorld } from "../../../testing/tool-world.ts";
import { SessionFolders } from "../session-folders.ts";
import type { FileAccess } from "../session-tools.ts";
import { ToolFault } from "../tool-fault.ts";
import { TextFiles } from "./text-files.ts";

/** An editor that has some files open, in a folder with others. */
function editor({ missing = notFound }: { missing?: () => string } = {}) {
  const buffers = new Map<string, string>();
  const files: FileAccess = {
    readText: async (path) => buffers.get(path) ?? (await readFile(path, "utf8").catch(missing)),
    writeText: async (path, content) => void buffers.set(path, content),
  };
  return { buffers, files };
}

function notFound(): never {
  throw Object.assign(new Error("ENOENT: no such file or directory, open '/x'"), { code: "ENOENT" });
}

test("[P4] if the client offers its files, an edit uses the client's text and is written by the client", async (t) => {
  const buffers = new Map<string, string>();
  const files: FileAccess = {
    readText: async (path) => buffers.get(path) ?? (await readFile(path, "utf8")),
    writeText: async (path, content) => {
      buffers.set(path, content);
      await writeFile(path, content);
    },
  };
  const world = await toolWorld(t, { files });
  await world.put("a.txt", "saved\n");
  buffers.set(join(world.folder, "a.txt"), "unsaved\n");
  await world.output("edit", { path: "a.txt", find: "unsaved", replace: "changed" });
  assert.equal(await world.get("a.txt"), "changed\n");
  await world.output("write", { path: "a.txt", content: "whole\n" });
  await world.output("write", { path: "new/b.txt", content: "made\n" });
  assert.equal(buffers.get(join(world.folder, "new/b.txt")), "made\n");
  buffers.set(join(world.folder, "a.txt"), "typed meanwhile\n");
  assert.match(await world.fault("write", { path: "a.txt", content: "x" }), /changed since it was read/);
});

test("[P4] if the client only reads, its text is edited and written to the disk", async (t) => {
  const world = await toolWorld(t, { files: { readText: () => Promise.resolve("unsaved\n") } });
  await world.put("a.txt", "saved\n");
  await world.output("edit", { path: "a.txt", find: "unsaved", replace: "changed" });
  assert.equal(await world.get("a.txt"), "changed\n");
});

test("[P4] a file that only the client has is read, edited and protected as one on disk", async (t) => {
  const { buffers, files } = editor();
  const world = await toolWorld(t, { files });
  const path = join(world.folder, "notes.md");
  buffers.set(path, "three hours of unsaved work\n");
  const view = await world.view("write", { path: "notes.md", content: "hello\n" });
  assert.equal(view.title, "Write notes.md");
  const diff = { type: "diff", path, oldText: "three hours of unsaved work\n", newText: "hello\n" };
  assert.deepEqual(view.content, [diff]);
  const unread = await world.fault("write", { path: "notes.md", content: "hello\n" });
  assert.match(unread, /notes.md exists, but was not read in this session/);
  assert.equal(buffers.get(path), "three hours of unsaved work\n");
  const edited = await world.output("edit", { path: "notes.md", find: "three", replace: "3" });
  assert.equal(edited, "edited notes.md: 1 replacement, at line 1");
  assert.equal(await world.output("write", { path: "notes.md", content: "hello\n" }), "wrote notes.md (1 line)");
  assert.equal(buffers.get(path), "hello\n");
  assert.match(await world.fault("edit", { path: "nodes.md", find: "a", replace: "b" }), /nodes.md does not exist/);
});

test("[P4] a file that only the client has is saved by an edit if the client does not write", async (t) => {
  const { buffers, files } = editor();
  const world = await toolWorld(t, { files: { readText: files.readText } });
  buffers.set(join(world.folder, "new.txt"), "unsaved\n");
  await world.output("edit", { path: "new.txt", find: "unsaved", replace: "saved" });
  assert.equal(await world.get("new.txt"), "saved\n");
});

test("[P4] a file is made where the client has nothing, whatever it answers for that", async (t) => {
  const answers = [
    notFound,
    () => "",
    () => {
      throw Object.assign(new Error("EIO: the client refused: Internal error, open '/x'"), { code: "EIO" });
    },
  ];
  for (const missing of answers) {
    const { files } = editor({ missing });
    const world = await toolWorld(t, { files });
    assert.equal((await world.view("write", { path: "a.txt", content: "x" })).title, "Create a.txt");
    assert.equal(await world.output("write", { path: "a.txt", content: "x" }), "created a.txt (1 line)");
  }
});

test("[P4] a call is refused if the client does not answer in time, or returns no text of a file on disk", async (t) => {
  const world = await toolWorld(t, { files: { readText: () => notFound() } });
  await world.put("a.txt", "x");
  // A refusal of the view is a refusal of the call: then no person is asked without seeing the change.
  const refused = new ToolFault("a.txt was not returned by the editor: ENOENT: no such file or directory");
  await assert.rejects(world.view("edit", { path: "a.txt", find: "x", replace: "y" }), refused);
  const folders = new SessionFolders({ folders: [world.folder] });
  const hangs = new TextFiles({ readText: () => new Promise(() => undefined) });
  const late = AbortSignal.abort(new DOMException("late", "TimeoutError"));
  for (const path of ["a.txt", "b.txt"]) {
    const read = hangs.readIfPresent(await folders.resolve(path), late);
    const fault = `${path} was not read: the editor did not answer in time; try again`;
    await assert.rejects(read, new ToolFault(fault));
  }
  const stopped = hangs.readIfPresent(await folders.resolve("a.txt"), AbortSignal.abort());
  await assert.rejects(stopped, { name: "AbortError" });
});

test("[P4] [P5] if the client only reads, a written file keeps its mode, its byte order mark and its line endings", async (t) => {
  // As many editors do, this one shows neither the mark nor the line endings.
  const shown = async (path: string): Promise<string> =>
    buffers.get(path) ?? (await readFile(path, "utf8")).replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  const buffers = new Map<string, string>();
  const world = await toolWorld(t, { files: { readText: shown } });
  for (const mode of [0o755, 0o600]) {
    await world.put("a.sh", "\ufeffone\r\ntwo\r\n");
    await chmod(join(world.folder, "a.sh"), mode);
    await world.output("edit", { path: "a.sh", find: "one\ntwo", replace: "1\n2" });
    assert.equal(await world.get("a.sh"), "\ufeff1\r\n2\r\n");
    assert.equal((await stat(join(world.folder, "a.sh"))).mode & 0o777, mode);
  }
  await world.output("write", { path: "a.sh", content: "x\ny\n" });
  assert.equal(await world.get("a.sh"), "\ufeffx\r\ny\r\n");
  buffers.set(join(world.folder, "a.sh"), "x\nunsaved\n");
  await world.output("edit", { path: "a.sh", find: "x", replace: "z" });
  assert.equal(await world.get("a.sh"), "\ufeffz\r\nunsaved\r\n");
  await world.put("mixed.txt", "a\r\nb\nc\n");
  await world.output("edit", { path: "mixed.txt", find: "b", replace: "B" });
  assert.equal(await world.get("mixed.txt"), "a\r\nB\nc\n");
  await chmod(join(world.folder, "mixed.txt"), 0o444);
  assert.match(await world.fault("edit", { path: "mixed.txt", find: "B", replace: "b" }), /read-only/);
});

test("[P4] [P5] a file that is not UTF-8 is not edited, whatever the client makes of it", async (t) => {
  const { files, buffers } = editor();
  const latin1 = Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]);
  const edit = { path: "l.txt", find: "c", replace: "k" };
  const world = await toolWorld(t, { files });
  await world.put("l.txt", latin1);
  assert.match(await world.output("read", { path: "l.txt" }), /some bytes are not UTF-8/);
  assert.match(await world.fault("edit", edit), /not UTF-8/);
  // The character itself may be in a file, and an editor that knows the encoding writes it back.
  await world.put("u.txt", "a\ufffdb\n");
  await world.output("edit", { path: "u.txt", find: "a", replace: "c" });
  assert.equal(buffers.get(join(world.folder, "u.txt")), "c\ufffdb\n");
  const knows = { ...files, readText: async (path: string) => await readFile(path, "latin1") };
  const known = await toolWorld(t, { files: knows });
  await known.put("l.txt", latin1);
  await known.output("edit", edit);
  assert.equal(buffers.get(join(known.folder, "l.txt")), "kaf\u00e9\n");
  // This process would write UTF-8.
  const reads = await toolWorld(t, { files: { readText: knows.readText } });
  await reads.put("l.txt", latin1);
  assert.match(await reads.fault("edit", edit), /not UTF-8/);
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { toolWorld } from "../../../testing/tool-world.ts";
import { limits } from "../../domain/limits.ts";

test("[P5] read gives lines with their numbers, in parts, and says how to go on", async (t) => {
  const world = await toolWorld(t);
  await world.put("a.txt", "one\r\ntwo\nthree");
  assert.equal(
    await world.output("read", { path: "a.txt" }),
    "1\tone\n2\ttwo\n3\tthree\n(the last line has no line feed)",
  );
  const part = await world.output("read", { path: "a.txt", offset: 2, limit: 1 });
  assert.equal(part, "2\ttwo\n(lines 2 to 2 of 3; go on with offset 3)");
  assert.match(await world.fault("read", { path: "a.txt", offset: 4 }), /a.txt has 3 lines; there is no line 4/);
  await world.put("empty", "");
  assert.equal(await world.output("read", { path: "empty" }), "(the file is empty)");
  await world.put("marked", "\ufeffone\n");
  assert.equal(await world.output("read", { path: "marked" }), "1\tone");
});

test("[P5] what read gives is bounded in lines and letters, and every line can be had", async (t) => {
  const world = await toolWorld(t);
  await world.put(
    "long.txt",
    Array.from({ length: 30_000 }, (_, index) => `line ${index + 1} ${"x".repeat(20)}\n`).join(""),
  );
  let [offset, lines] = [1, 0];
  for (let next: string | undefined = "1"; next !== undefined;) {
    const output = await world.output("read", { path: "long.txt", offset });
    assert.ok(output.length <= limits.readCharactersMax + 100);
    const shown = output.split("\n").filter((line) => /^\d+\t/.test(line));
    assert.ok(shown[0]?.startsWith(`${offset}\tline ${offset} `));
    lines += shown.length;
    next = /go on with offset (\d+)/.exec(output)?.[1];
    offset = Number(next);
  }
  assert.equal(lines, 30_000);
  await world.put("wide.txt", `${"😀".repeat(5_000)}\n`);
  const wide = await world.output("read", { path: "wide.txt" });
  assert.ok(wide.length < 2_100 && wide.isWellFormed() && wide.includes("[… 8000 characters more]"));
});

test("[P5] what is no text file is refused at once, and nothing is waited for", async (t) => {
  const world = await toolWorld(t);
  await world.put("image.png", new Uint8Array([0x89, 0x50, 0, 0, 1]));
  await world.put("large.log", "");
  await truncate(join(world.folder, "large.log"), 40_000_000);
  execFileSync("mkfifo", [join(world.folder, "pipe")]);
  await world.put("folder/x", "");
  const faults: [string, RegExp][] = [
    ["image.png", /not a text file \(5 bytes, binary\)/],
    ["large.log", /has 40000000 bytes, and at most 10 MiB/],
    ["pipe", /neither a file nor a folder/],
    ["folder", /is a folder; use "list"/],
    ["folder/x/y", /there is no folder\/x\/y/],
  ];
  for (const [path, fault] of faults) assert.match(await world.fault("read", { path }), fault);
  for (const name of ["write", "edit"]) {
    const args = name === "write" ? { content: "x" } : { find: "a", replace: "b" };
    for (const path of ["image.png", "large.log", "pipe", "folder"]) await world.fault(name, { path, ...args });
  }
  assert.match(await world.output("search", { pattern: "." }), /no match in \d files?/);
  assert.doesNotMatch(await world.output("list", {}), /pipe/);
});

test("[P5] text that is not UTF-8 is shown, and said to be so", async (t) => {
  const world = await toolWorld(t);
  await world.put("latin1.txt", Buffer.from("caf\u00e9\n", "latin1"));
  assert.match(await world.output("read", { path: "latin1.txt" }), /^1\tcaf\ufffd\n\(some bytes are no UTF-8/);
  const edit = await world.fault("edit", { path: "latin1.txt", find: "caf", replace: "tea" });
  assert.match(edit, /not UTF-8, so it cannot be edited/);
});

test("[P5] the whole output of an earlier call that was cut can be read, however long its lines are", async (t) => {
  const world = await toolWorld(t);
  const output = `first\n${"y".repeat(5_000)}\nlast`;
  const readOutput = (id: string): Promise<string | null> => Promise.resolve(id === "call-1" ? output : null);
  const read = (args: Record<string, unknown>) => world.call("read", args, { readOutput });
  const whole = await read({ path: "output:call-1" });
  const lines = ["first", "y".repeat(2_000), "y".repeat(2_000), "y".repeat(1_000), "last"];
  assert.equal(whole.output, lines.map((line, index) => `${index + 1}\t${line}`).join("\n"));
  assert.equal((await read({ path: "output:call-1", offset: 5 })).output, "5\tlast");
  assert.match((await read({ path: "output:other" })).output, /there is no output other that was cut/);
  assert.equal((await world.view("read", { path: "output:call-1" })).title, "Read output:call-1");
});

test("[P4] where the client offers its files, an editor's unsaved text is what is read", async (t) => {
  const asked: string[] = [];
  const readText = (path: string): Promise<string> => {
    asked.push(path);
    if (path.endsWith("none.txt")) return Promise.reject(Object.assign(new Error("none"), { code: "ENOENT" }));
    return Promise.resolve("unsaved\n");
  };
  const world = await toolWorld(t, { files: { readText } });
  await world.put("a.txt", "saved\n");
  execFileSync("mkfifo", [join(world.folder, "pipe")]);
  assert.equal(await world.output("read", { path: "a.txt" }), "1\tunsaved");
  assert.equal(await world.output("read", { path: "new.txt" }), "1\tunsaved");
  assert.match(await world.fault("read", { path: "none.txt" }), /there is no none.txt/);
  await world.fault("read", { path: "pipe" });
  await world.fault("read", { path: "/etc/passwd" });
  assert.deepEqual(
    asked,
    ["a.txt", "new.txt", "none.txt"].map((name) => join(world.folder, name)),
  );
});

test("[P5] a read is shown by its file and line", async (t) => {
  const world = await toolWorld(t);
  const path = join(world.folder, "src/a.ts");
  const view = await world.view("read", { path, offset: 5 });
  const locations = [{ path, line: 5 }];
  assert.deepEqual(view, {
    title: "Read src/a.ts from line 5",
    kind: "read",
    locations,
    content: [],
    permission: null,
  });
});

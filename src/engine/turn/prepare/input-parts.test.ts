/** Input parts through the engine (I1): what the model gets, what is kept, what is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryBlobs } from "../../../blobs/memory/memory-blobs.ts";
import type { InputPart } from "../../../domain/input-part.ts";
import { limits } from "../../../domain/limits.ts";
import { scriptedProvider, type Script } from "../../../providers/scripted/scripted.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";
import { all, alice, testEngine } from "../../../../testing/engine.ts";
import { ForgedFile } from "../../../../testing/forged-exports.ts";
import { hasCode } from "../../../../testing/refusals.ts";
import type { ErrorCode } from "../../../domain/errors.ts";

const png = Buffer.from("89504e470d0a1a0a00", "hex");
const words = "a line of the notes\n".repeat(5_000);

/** Calls the tool once, then says what it gave. */
const reads = (name: string, more: object = {}): Script => {
  return ({ items }) => {
    const last = items.at(-1);
    if (last?.type === "tool_result") return last.output;
    return [{ calls: "read_input", with: { name, ...more } }];
  };
};

const seeing = (script?: Script) => {
  const provider = scriptedProvider({ remembers: true, ...(script !== undefined && { script }) });
  return Object.assign(provider, { takes: () => ["image/png"] });
};

test("[I1] [E2] [E3] texts are the instruction, text stands in the context, an image in the message", async (t) => {
  const { engine, ask, deps } = await testEngine(t, { provider: seeing() });
  const input: InputPart[] = [
    { type: "text", text: "and more" },
    { type: "file", path: "notes/a.md", content: Buffer.from("# A\n"), mode: "inline" },
    { type: "binary", content: png, mode: "inline" },
    { type: "file", path: "src/b.ts" },
  ];
  const turn = await ask("look", { input });
  assert.equal(turn.instructionSummary, "look\n\nand more");
  const reader = await engine.turns.read(alice, turn.id);
  const [, context = ""] = await reader.message();
  const headers = context.split("\n").filter((line) => /^(?:===|Name:|Type:|Read|It is|```)/.test(line));
  assert.deepEqual(headers, [
    "=== INPUT 1 ===",
    "Name: notes/a.md",
    "Type: text/plain",
    "```markdown",
    "```",
    "=== INPUT 2 ===",
    "Name: input-2.png",
    "Type: image/png",
    "It is part of this message.",
    "=== INPUT 3 ===",
    "Name: src/b.ts",
    "Read it with your tools: it is a file of the project.",
  ]);
  assert.deepEqual(
    turn.input?.map(({ type, mode, mediaType, content }) => [type, mode, mediaType, content?.bytes ?? null]),
    [
      ["file", "inline", "text/plain", 4],
      ["binary", "inline", "image/png", 9],
      ["file", "file", "application/octet-stream", null],
    ],
  );
  const kept = (await deps.blobs.list("turns/")).filter((key) => key.includes("/part-"));
  assert.equal(kept.length, 2);
});

test("[I1] a part with mode file is read with a tool: at once, later, by another process, and after a rerun", async (t) => {
  const shared = { records: memoryRecords(), blobs: memoryBlobs() };
  const script = reads("notes.txt", { offset: words.length - 20 });
  const one = await testEngine(t, { ...shared, script });
  const before = await one.ask("before");
  assert.equal(before.status, "completed");
  const input: InputPart[] = [{ type: "binary", content: Buffer.from(words), name: "notes.txt" }];
  const first = await one.ask("read", { sessionId: before.sessionId, input });
  assert.ok(first.warnings.some(({ code }) => code === "tools_changed"));
  assert.equal(await one.answer(first.id), words.slice(-20));
  const other = await testEngine(t, { ...shared, script: reads("notes.txt") });
  const later = await other.ask("again", { sessionId: before.sessionId });
  assert.ok(!later.warnings.some(({ code }) => code === "tools_changed"));
  assert.match(await other.answer(later.id), /continue with offset 49152\)$/);
  const rerun = await other.ask("", { rerun: { turnId: first.id } });
  assert.deepEqual(
    rerun.input?.map(({ name, content }) => [name, content?.sha256]),
    first.input?.map(({ name, content }) => [name, content?.sha256]),
  );
  const missing = await testEngine(t, { ...shared, script: reads("other") });
  assert.match(
    await missing.answer((await missing.ask("x", { sessionId: before.sessionId })).id),
    /^failed: there is no part "other"; the parts are: "notes.txt"$/,
  );
});

test("[I1] [T13] what cannot be taken is refused by its name, nothing is sent, and nothing is left behind", async (t) => {
  const provider = seeing();
  const { ask, deps } = await testEngine(t, { provider });
  const inline = (content: Uint8Array, mediaType?: string): InputPart => {
    return { type: "binary", content, name: "x", mode: "inline", ...(mediaType !== undefined && { mediaType }) };
  };
  const pdf = Buffer.from("%PDF-1.7");
  const faults: [InputPart, code: ErrorCode, detail: RegExp][] = [
    [inline(pdf), "input_part_unsupported", /^x is application\/pdf; scripted-1 of scripted takes text, image\/png$/],
    [inline(Buffer.from([0, 1])), "input_part_unsupported", /neither text nor an image/],
    [
      inline(Buffer.from("text"), "image/png"),
      "input_part_invalid",
      /is declared as image\/png, but its content is of another type/,
    ],
    [inline(png, "no type"), "input_part_invalid", /is not a media type/],
    [{ type: "file", path: "../x", mode: "file" }, "input_part_invalid", /leaves the repository/],
    [{ type: "file", path: "x", mode: "inline" }, "input_part_invalid", /send the content/],
    [
      { type: "binary", content: Buffer.alloc(limits.inputPartBytesMax + 1) },
      "input_too_large",
      /can have at most 10485760/,
    ],
    [{ type: "url", url: "http://example.org/" }, "url_refused", /does not read web addresses/],
  ];
  for (const [part, code, detail] of faults) {
    await assert.rejects(ask("x", { input: [part] }), hasCode(code, detail));
  }
  await assert.rejects(ask("x", { input: Array.from({ length: 33 }, () => inline(png)) }), { code: "input_too_large" });
  assert.deepEqual([provider.exchanges.length, await deps.blobs.list("turns/")], [0, []]);
  const again = { idempotencyKey: "k", input: [inline(png)] };
  const turn = await ask("x", again);
  assert.equal((await ask("x", again)).id, turn.id);
  await assert.rejects(ask("x", { idempotencyKey: "k", input: [inline(Buffer.from("other"))] }), {
    code: "idempotency_key_reused",
  });
});

test("[I1] [I2] an address is read when the turn begins, and is what the server says or the bytes show", async (t) => {
  const pages: Record<string, { content: Buffer; mediaType: string | null }> = {
    "https://a.example/page.html?q=1": { content: Buffer.from("<p>hello"), mediaType: "text/html" },
    "https://a.example/": { content: png, mediaType: "text/plain" },
  };
  const urls = { read: async (url: string) => pages[url] ?? assert.fail(url) };
  const { engine, ask } = await testEngine(t, { provider: seeing(), urls });
  const input = Object.keys(pages).map((url): InputPart => ({ type: "url", url, mode: "inline" }));
  const turn = await ask("read", { input });
  assert.deepEqual(
    turn.input?.map(({ source, name, mediaType }) => [source, name, mediaType]),
    [
      ["https://a.example/page.html?q=1", "page.html", "text/html"],
      ["https://a.example/", "input-2.png", "image/png"],
    ],
  );
  assert.match((await (await engine.turns.read(alice, turn.id)).message())[1] ?? "", /```html\n<p>hello\n```/);
});

test("[I1] [D2] [S6] [K4] parts go along with an export, are proven, and go with their session", async (t) => {
  const here = await testEngine(t, { provider: seeing() });
  const input: InputPart[] = [
    { type: "binary", content: png, mode: "inline" },
    { type: "binary", content: Buffer.from("notes"), name: "n.txt" },
  ];
  const first = await here.ask("look", { input });
  const next = await here.ask("again", { sessionId: first.sessionId, input });
  const keys = (await here.deps.blobs.list("turns/")).filter((key) => key.includes("/part-"));
  // What the history has is not kept again.
  assert.deepEqual([keys.length, next.input], [2, first.input]);
  const late = { ...here.deps, now: () => Date.now() + 2 * limits.garbageAgeMs };
  const tidy = await testEngine(t, { records: here.deps.records, blobs: here.deps.blobs, now: late.now });
  assert.deepEqual((await tidy.engine.tree.collectGarbage(alice, { dryRun: true })).keys, []);
  const lines = await all(here.engine.transfer.export(alice, { sessionId: first.sessionId }));
  const there = await testEngine(t, { provider: seeing() });
  await there.engine.transfer.import(
    alice,
    (async function* () {
      yield* lines;
    })(),
  );
  assert.equal((await there.ask("more", { sessionId: first.sessionId })).status, "completed");
  assert.equal((await there.engine.explain.verify(alice, first.sessionId)).fault, null);
  const [key = ""] = keys;
  await there.deps.blobs.delete(key);
  await there.deps.blobs.put(key, Buffer.from(JSON.stringify({ format: 1, turnId: first.id, base64: "AAAA" })));
  assert.match(
    (await there.engine.explain.verify(alice, first.sessionId)).fault?.reason ?? "",
    /does not have the content/,
  );
  // A file that names what is not its own reads no part of another session.
  const forged = new ForgedFile(lines);
  const stray = "turns/00000000-0000-7000-8000-000000000001/part-00000000-0000-7000-8000-000000000001.json";
  forged.edit(forged.row(1).blobs.state, (state) => {
    const text = JSON.stringify(state).replaceAll(key, stray);
    Object.assign(state, JSON.parse(text));
  });
  const elsewhere = await testEngine(t);
  await assert.rejects(
    elsewhere.engine.transfer.import(
      alice,
      (async function* () {
        yield* forged.sealed();
      })(),
    ),
    hasCode("import_invalid", /names the part/),
  );
  await here.engine.tree.remove(alice, first.sessionId);
  await here.engine.tree.purge(alice, first.sessionId);
  assert.deepEqual(await here.deps.blobs.list("turns/"), []);
});

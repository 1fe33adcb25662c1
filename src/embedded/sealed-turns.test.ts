/** The blobs of turns in the database of the records: what is read back, how much room they take, and what damage does. */
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import Database from "better-sqlite3";
import { alice, all, testEngine, type TestEngine } from "../../testing/engine.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import type { Engine } from "../engine/engine.ts";
import type { TurnStore } from "../records/turn-store.ts";
import type { Tool } from "../tools/tool.ts";
import { openEmbeddedStore, type EmbeddedStore } from "./embedded-store.ts";

interface World extends TestEngine {
  file: string;
  store: EmbeddedStore;
  /** The bytes of every blob that a turn wrote, by key. */
  written: Map<string, Uint8Array>;
}

const look: Tool = {
  definition: { name: "look", parameters: { type: "object" } },
  needsApproval: () => false,
  run: async () => ({ output: words(900, 3), isError: false }),
};

/** Answers with words. Every fourth call of the model asks for a tool, if there are tools. */
async function world(context: TestContext, { tools = [look] }: { tools?: Tool[] } = {}): Promise<World> {
  const file = join(await temporaryFolder(context), "records.db");
  const store = await openEmbeddedStore({ file });
  const written = new Map<string, Uint8Array>();
  let calls = 0;
  const engine = await testEngine(context, {
    records: store.records,
    blobs: store.blobs,
    turnStore: noting(store.turnStore, written),
    tools,
    script: ({ items }) => {
      calls += 1;
      const asks = tools.length > 0 && calls % 4 === 0 && items.at(-1)?.type !== "tool_result";
      return asks ? [{ says: "Looking." }, { calls: "look", with: {} }] : words(400, calls);
    },
  });
  return { ...engine, file, store, written };
}

function noting(store: TurnStore, written: Map<string, Uint8Array>): TurnStore {
  const note = (blobs: readonly { key: string; bytes: Uint8Array }[]): void =>
    blobs.forEach(({ key, bytes }) => written.set(key, bytes));
  return {
    open: (opening, blobs) => (note(blobs), store.open(opening, blobs)),
    advance: (progress, blobs) => (note(blobs), store.advance(progress, blobs)),
    finish: (finish, end) => (note(end.put), store.finish(finish, end)),
  };
}

const vocabulary = "tree head fork turn store read write page frame chain model answer question file line code".split(
  " ",
);

function words(length: number, seed: number): string {
  let state = seed;
  let text = "";
  while (text.length < length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += `${vocabulary[(state >>> 20) % vocabulary.length] ?? ""}${(state >>> 8) % 97} `;
  }
  return text.slice(0, length);
}

async function converse({ ask }: World, turns: number): Promise<{ sessionId: string; turnIds: string[] }> {
  const turnIds: string[] = [];
  let sessionId: string | undefined;
  for (let turn = 1; turn <= turns; turn += 1) {
    const done = await ask(words(400, 1_000 + turn), sessionId === undefined ? {} : { sessionId });
    assert.equal(done.status, "completed");
    sessionId = done.sessionId;
    turnIds.push(done.id);
  }
  return { sessionId: sessionId ?? "", turnIds };
}

/** Returns the blobs that the rows name, as another process reads them. */
async function readAgain(
  { file }: Pick<World, "file">,
  turnIds: readonly string[],
): Promise<Map<string, Uint8Array | null>> {
  const { records, blobs } = await openEmbeddedStore({ file });
  try {
    const keys = (await Promise.all(turnIds.map((id) => records.purges.blobKeysOf(id)))).flat();
    const found = new Map<string, Uint8Array | null>();
    for (const key of keys) found.set(key, await blobs.get(key));
    return found;
  } finally {
    await records.close();
  }
}

function assertAsWritten(
  found: ReadonlyMap<string, Uint8Array | null>,
  written: ReadonlyMap<string, Uint8Array>,
): void {
  assert.ok(found.size > 0);
  for (const [key, bytes] of found) {
    const expected = written.get(key) ?? assert.fail(`${key} was never written`);
    assert.equal(Buffer.compare(bytes ?? Buffer.alloc(0), expected), 0, `${key} has other bytes`);
  }
}

test("[D3] [K6] every blob of a conversation with forks, reruns and tools is read back byte for byte by another process", async (context) => {
  const made = await world(context);
  const { sessionId, turnIds } = await converse(made, 34);
  const [, , third = "", , , , , eighth = ""] = turnIds;
  const forked = await made.ask("another way", { fork: { turnId: eighth } });
  const below = await made.ask("and on", { sessionId: forked.sessionId });
  const again = await made.ask("", { rerun: { turnId: third } });
  assert.deepEqual([forked.status, below.status, again.status], ["completed", "completed", "completed"]);
  const ids = [...turnIds, forked.id, below.id, again.id];
  assertAsWritten(await readAgain(made, ids), made.written);
  const { turnsChecked, fault } = await made.engine.explain.verify(alice, sessionId);
  assert.deepEqual([turnsChecked, fault], [34, null]);
});

test("[B1] [K5] the blobs of a running turn are stored alone; when it has ended, they are in its content and nowhere else", async (context) => {
  const made = await world(context);
  await converse(made, 5);
  const database = new Database(made.file, { readonly: true });
  context.after(() => database.close());
  const loose = database.prepare<[], string>("select key from blobs").pluck().all();
  assert.deepEqual(
    loose.filter((key) => key.startsWith("turns/")),
    [],
  );
  assert.equal(database.prepare("select count(*) from steps").pluck().get(), 0);
});

test("[K6] a turn of 800 characters takes at most 2 KB of the file, with its request, response, events, state and search", async (context) => {
  const made = await world(context, { tools: [] });
  const size = async (turns: number): Promise<number> => {
    await converse(made, turns);
    const database = new Database(made.file);
    database.pragma("wal_checkpoint(truncate)");
    database.close();
    return statSync(made.file).size;
  };
  const small = await size(16);
  const large = await size(128);
  const perTurn = (large - small) / 128;
  assert.ok(perTurn <= 2_000, `${perTurn} bytes`);
});

test("[K6] a text with line breaks and quotation marks takes the same room as one without, and a tool's result is packed once", async (context) => {
  const quoted = (length: number, seed: number): string => words(length, seed).replaceAll(/(\d) /g, '$1"\n\n\t');
  const resultOf = (text: string): Tool => ({ ...look, run: async () => ({ output: text, isError: false }) });
  const packed = async (text: typeof words): Promise<number[]> => {
    const made = await world(context, { tools: [resultOf(text(6_000, 5).slice(0, 6_000))] });
    const { sessionId } = await made.ask(text(400, 1));
    for (let turn = 2; turn <= 24; turn += 1) await made.ask(text(400, turn), { sessionId });
    const database = new Database(made.file, { readonly: true });
    context.after(() => database.close());
    const lengths = "select length(blobs) from contents order by length(blobs)";
    return database.prepare<[], number>(lengths).pluck().all();
  };
  const [plain, lined] = [await packed(words), await packed(quoted)];
  const [half, last] = [12, plain.length - 1];
  assert.ok((lined[half] ?? 0) < (plain[half] ?? 0) + 40, `${lined[half]} and ${plain[half]} bytes`);
  assert.ok((lined[last] ?? 0) < (plain[last] ?? 0) * 1.2, `${lined[last]} and ${plain[last]} bytes`);
});

test("[B3] a flipped bit in a content is an error that names the blob, never other bytes", async (context) => {
  const made = await world(context);
  const { turnIds } = await converse(made, 9);
  const last = turnIds.at(-1) ?? "";
  const expected = made.written;
  const database = new Database(made.file);
  context.after(() => database.close());
  const id = database.prepare<[string], number>("select content_id from turns where id = ?").pluck().get(last) ?? 0;
  const blobs =
    database.prepare<[number], Buffer>("select blobs from contents where id = ?").pluck().get(id) ?? Buffer.of();
  const write = database.prepare("update contents set blobs = ? where id = ?");
  for (let at = 0; at < blobs.length; at += 7) {
    const damaged = Buffer.from(blobs);
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
    write.run(damaged, id);
    const { records, blobs: again } = await openEmbeddedStore({ file: made.file });
    await assert.rejects(again.get(`turns/${last}/run.json`), { code: "blob_damaged" }, `byte ${at}`);
    await assert.rejects(again.get(`turns/${last}/state.json`), { code: "blob_damaged" }, `byte ${at}`);
    await records.close();
  }
  write.run(blobs, id);
  // The words of the turn stand before the packed bytes.
  const text = database.prepare<[number], string>("select answer from words where id = ?").pluck().get(id) ?? "";
  database.prepare("update words set answer = ? where id = ?").run(`x${text.slice(1)}`, id);
  const { records, blobs: again } = await openEmbeddedStore({ file: made.file });
  context.after(() => records.close());
  for (const name of ["run", "state"]) {
    const key = `turns/${last}/${name}.json`;
    const read = await again.get(key).then(
      (bytes) => Buffer.compare(bytes ?? Buffer.of(), expected.get(key) ?? Buffer.of()) === 0,
      (error: { code?: string }) => error.code === "blob_damaged",
    );
    assert.equal(read, true, key);
  }
});

test("[S6] [K4] a purge leaves what forks need, and gives the rest back", async (context) => {
  const made = await world(context);
  const { sessionId, turnIds } = await converse(made, 40);
  const [, , , , fifth = ""] = turnIds;
  const forked = await made.ask("another way", { fork: { turnId: fifth } });
  await made.engine.tree.remove(alice, sessionId);
  await made.engine.tree.purge(alice, sessionId);
  assertAsWritten(await readAgain(made, [...turnIds.slice(0, 5), forked.id]), made.written);
  const database = new Database(made.file, { readonly: true });
  context.after(() => database.close());
  assert.equal(database.prepare("select count(*) from contents").pluck().get(), 6);
  assert.equal(database.prepare("select count(*) from words").pluck().get(), 6);
  assert.equal(database.pragma("freelist_count", { simple: true }), 0, "the room is given back");
});

test("[D2] [K6] an import is packed like the turns that were run, and is read back byte for byte", async (context) => {
  const made = await world(context);
  const { sessionId, turnIds } = await converse(made, 20);
  const lines = await all(made.engine.transfer.export(alice, { sessionId }));
  const other = await world(context);
  await other.engine.transfer.import(alice, eachOf(lines));
  assertAsWritten(await readAgain(other, turnIds), made.written);
  const database = new Database(other.file, { readonly: true });
  context.after(() => database.close());
  const loose = database.prepare<[], string>("select key from blobs").pluck().all();
  assert.deepEqual(
    loose.filter((key) => key.startsWith("turns/")),
    [],
  );
  const sizes = [made.file, other.file].map((file) => new Database(file, { readonly: true }));
  const [from = 0, to = 0] = sizes.map((one) => {
    const size = one.prepare<[], number>("select sum(length(blobs) + length(sealed)) from contents").pluck().get();
    one.close();
    return size ?? 0;
  });
  assert.ok(to < from * 1.1, `${to} bytes after ${from}`);
  assert.deepEqual(await lastLine(other.engine, sessionId), lines.at(-1));
});

async function lastLine(engine: Engine, sessionId: string): Promise<string | undefined> {
  return (await all(engine.transfer.export(alice, { sessionId }))).at(-1);
}

async function* eachOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

for (const who of ["this process", "another process"]) {
  test(`[K6] [S6] a session that ${who} purged and imported again goes on with the contents that it has now`, async (context) => {
    const made = await world(context);
    const { sessionId } = await converse(made, 9);
    const other = who === "this process" ? made : await testEngine(context, await openEmbeddedStore(made));
    const lines = await all(other.engine.transfer.export(alice, { sessionId }));
    await other.engine.tree.remove(alice, sessionId);
    await other.engine.tree.purge(alice, sessionId);
    await other.engine.transfer.import(alice, eachOf(lines));
    const ids: string[] = [];
    for (let turn = 1; turn <= 3; turn += 1) ids.push((await made.ask(words(400, turn), { sessionId })).id);
    assertAsWritten(await readAgain(made, ids), made.written);
    const { fault } = await made.engine.explain.verify(alice, sessionId);
    assert.equal(fault, null);
  });
}

/** `store: false` (O3). */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { testOpenAi } from "../../../../testing/openai-door.ts";
import { temporaryFolder } from "../../../../testing/temporary-folder.ts";
import { testEngine, testRunner } from "../../../../testing/engine.ts";
import { newId } from "../../../domain/ids.ts";
import type { EngineStores, UnkeptPolicy } from "../../../engine/dependencies.ts";
import { openEmbeddedStore } from "../../../embedded/embedded-store.ts";
import { fileBlobs } from "../../../blobs/files/file-blobs.ts";
import { fileEventLog } from "../../../live/files/file-event-log.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";
import { endOfRound } from "../../../system/rounds.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";
import { openSqliteRecords } from "../../../records/sql/sqlite/sqlite.ts";

const secret = "zebrafish-in-the-cupboard";
const answer = "giraffe-behind-the-curtain";

/** Returns the files of a folder that have one of the words. */
function filesWith(folder: string, words: readonly string[]): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => {
    const path = join(folder, name);
    return statSync(path).isFile() && words.some((word) => readFileSync(path).includes(word));
  });
}

/** The stores of a data folder: rows with files beside them, or everything in one file. */
const durable: Record<string, (folder: string) => Promise<Partial<EngineStores>>> = {
  "rows and files": async (folder) => ({
    records: await openSqliteRecords({ file: join(folder, "records.db") }),
    blobs: fileBlobs({ folder: join(folder, "blobs") }),
  }),
  "one file": async (folder) => {
    const { records, blobs, turnStore } = await openEmbeddedStore({ file: join(folder, "records.db") });
    return { records, blobs, turnStore };
  },
};

for (const [name, open] of Object.entries(durable))
  test(`[O3] nothing of a response that is not stored is in any row, blob, file or write-ahead log, while it runs and after: ${name}`, async (t) => {
    const folder = await temporaryFolder(t);
    const held = Promise.withResolvers<void>();
    const log = fileEventLog({ folder: join(folder, "live") });
    const { openai, engine, admin, provider, reports } = await testOpenAi(t, {
      ...(await open(folder)),
      log,
      script: () => [{ says: [`${answer} `, held.promise, "end"] }],
    });
    const words = [secret, answer];
    const stream = await openai.responses.create({ input: secret, instructions: secret, store: false, stream: true });
    let isFirst = true;
    for await (const event of stream) {
      if (event.type === "response.output_text.delta" && isFirst) {
        isFirst = false;
        assert.deepEqual(filesWith(folder, words), []);
        held.resolve();
      }
      if (event.type === "response.completed")
        assert.equal(event.response.output_text ?? event.response.status, "completed");
    }
    assert.deepEqual(filesWith(folder, words), []);
    assert.deepEqual((await engine.sessions.list(admin, {})).sessions, []);
    assert.deepEqual(await engine.tree.search(admin, { text: "zebrafish" }), []);
    assert.deepEqual(
      [provider.exchanges[0]?.call.store, provider.exchanges[0]?.call.previousResponseId],
      [false, null],
    );
    const readRow = async () => ((await (await engine.unkept(admin))?.list(admin, { limit: 9 })) ?? [])[0];
    let row = await readRow();
    // The counts are written after the client has its answer.
    while (row?.end === null) {
      await endOfRound();
      row = await readRow();
    }
    assert.partialDeepStrictEqual(row?.end, { status: "completed", modelRequests: 1, model: "scripted-1" });
    assert.ok((row?.end?.usage.total ?? 0) > 0);
    assert.match(row?.requestHash ?? "", /^[0-9a-f]{64}$/);
    assert.doesNotMatch(reports.join(), /zebrafish|giraffe/);
    // The same words are found if the response is stored, so the search above would have found them.
    await openai.responses.create({ input: secret });
    assert.notDeepEqual(filesWith(folder, words), []);
  });

test("[O3] the answer tells the truth about `store`, and its id is nowhere later", async (t) => {
  const { openai } = await testOpenAi(t);
  const response = await openai.responses.create({ input: "one", store: false });
  assert.equal((response as unknown as { store: boolean }).store, false);
  assert.equal(response.output_text, "answer 1");
  await assert.rejects(openai.responses.retrieve(response.id), { status: 404 });
  for (const store of [true, false]) {
    await assert.rejects(openai.responses.create({ input: "two", previous_response_id: response.id, store }), {
      code: "previous_response_not_found",
    });
  }
});

test("[O3] background and conversations need responses that are stored", async (t) => {
  const { openai, wireError } = await testOpenAi(t);
  const { id } = await openai.conversations.create();
  const refused = [{ background: true }, { conversation: id }].map((more) => ({ input: "x", store: false, ...more }));
  const params = await Promise.all(refused.map(async (body) => (await wireError("POST /v1/responses", body)).param));
  assert.deepEqual(params, ["background", "conversation"]);
});

test("[O3] a failure leaves its code and no message", async (t) => {
  const { openai, engine, admin } = await testOpenAi(t, {
    script: () => [{ fails: "provider_rejected", message: secret }],
  });
  await assert.rejects(openai.responses.create({ input: "x", store: false }));
  const [row] = (await (await engine.unkept(admin))?.list(admin, { limit: 9 })) ?? [];
  assert.partialDeepStrictEqual(row?.end, { status: "failed", code: "provider_rejected" });
  assert.doesNotMatch(JSON.stringify(row), /zebrafish/);
});

test("[O3] [R2] after the death of its process only `failed` remains", async (t) => {
  const records = memoryRecords();
  const held = Promise.withResolvers<void>();
  const dead = testRunner();
  const first = await testEngine(t, { records, runner: dead, script: () => [{ waits: held.promise }] });
  const place = await first.engine.unkept(first.caller);
  assert.ok(place);
  const running = await place.turns.run(first.caller, { instruction: secret });
  const second = await testEngine(t, { records, isAlive: ({ id }) => id !== dead.id });
  const [row] = (await (await second.engine.unkept(first.caller))?.list(first.caller, { limit: 9 })) ?? [];
  assert.partialDeepStrictEqual(row?.end, { status: "failed", code: "runner_lost" });
  held.resolve();
  await running.finished;
});

test("[O3] [R4] a server that stops ends such turns too", async (t) => {
  const { engine, caller } = await testEngine(t, {
    script: () => [{ says: ["begun ", new Promise(() => undefined)] }],
  });
  const place = await engine.unkept(caller);
  assert.ok(place);
  const running = await place.turns.run(caller, { instruction: "long" });
  for await (const { event } of running.events()) if (event.type === "text_delta") break;
  await engine.close({ graceMs: 0 });
  const turn = await running.finished;
  assert.equal(turn.status === "completed" && turn.stopReason, "interrupted");
});

test("[O3] a response that is not stored continues a stored one, its images included, and changes nothing of it", async (t) => {
  const scripted = scriptedProvider({ remembers: false });
  const tested = await testOpenAi(t, { provider: { ...scripted, takes: () => ["image/png"] } });
  const { openai, engine, admin, person, clientOf } = tested;
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
  const image = { type: "input_image" as const, detail: "auto" as const, image_url: `data:image/png;base64,${png}` };
  const content = [{ type: "input_text" as const, text: "one" }, image];
  const first = await openai.responses.create({ input: [{ role: "user", content }] });
  const asked = { input: "two", previous_response_id: first.id, store: false };
  const next = await openai.responses.create(asked);
  assert.equal(next.previous_response_id, first.id);
  const items = scripted.exchanges[1]?.call.items ?? [];
  assert.deepEqual(
    items.map(({ type }) => type),
    ["user", "assistant", "user"],
  );
  assert.match(scripted.exchanges[1]?.request.body ?? "", /"media":\[/);
  const { sessions } = await engine.sessions.list(admin, {});
  assert.deepEqual(
    sessions.map(({ lastSequence }) => lastSequence),
    [1],
  );
  const stranger = clientOf(await person("member"));
  await assert.rejects(stranger.responses.create(asked), { code: "previous_response_not_found" });
  const compaction = await openai.responses.compact({ model: "scripted-1", previous_response_id: first.id });
  const input = [...compaction.output, { role: "user" as const, content: "three" }];
  assert.equal(
    ((await openai.responses.create({ input, store: false } as never)) as { status?: string }).status,
    "completed",
  );
});

test("[O3] an org can refuse such requests, or keep their content, and the answer's `store` tells the truth", async (t) => {
  const other = newId();
  const unkeptPolicy = (orgId: string): UnkeptPolicy => (orgId === other ? "refuse" : "keep");
  const { openai, clientOf, engine, admin, person } = await testOpenAi(t, { unkeptPolicy });
  const kept = await openai.responses.create({ input: "one", store: false, background: true });
  assert.equal((kept as unknown as { store: boolean }).store, true);
  assert.equal((await openai.responses.retrieve(kept.id)).id, kept.id);
  await openai.chat.completions.create({ model: "", messages: [{ role: "user", content: "two" }], store: false });
  assert.equal((await engine.sessions.list(admin, {})).sessions.length, 2);

  const strict = clientOf(await person("member", other));
  const refusal = { status: 400, param: "store", message: /Your organization requires 'store' to be true/ };
  await assert.rejects(strict.responses.create({ input: "one", store: false }), refusal);
  const messages = [{ role: "user" as const, content: "two" }];
  await assert.rejects(strict.chat.completions.create({ model: "", messages, store: false }), refusal);
  assert.equal((await strict.responses.create({ input: "one" })).status, "completed");
});

/** The execute route: three forms of a request, three forms of a response (H1, V3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AptoveError, type ErrorCode } from "../../../domain/errors.ts";
import { fixes } from "../../../domain/fixes.ts";
import { s3Blobs } from "../../../blobs/s3/s3-blobs.ts";
import { limits } from "../../../domain/limits.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";
import type { ExecuteAnswer } from "../../../protocol/execute.ts";
import { startFakeS3 } from "../../../../testing/fake-s3/fake-s3.ts";
import { sseMessages, testDoor } from "../../../../testing/http-door.ts";

const execute = "/api/ai/agent/execute";
const answerOf = async (response: Response) => (await response.json()) as ExecuteAnswer;

test("[H1] JSON runs a turn, and the answer is complete", async (t) => {
  const long = "word ".repeat(2_000);
  const { call } = await testDoor(t, { script: () => long });
  const response = await call(`POST ${execute}`, { json: { instruction: "hello" } });
  assert.equal(response.status, 200);
  const answer = await answerOf(response);
  assert.ok(long.length > limits.summaryCharactersMax);
  assert.partialDeepStrictEqual(answer, {
    kind: "answer",
    text: long,
    responseContinuationId: answer.turnId,
    stopReason: "stop",
    sources: [],
    toolCalls: [],
    fileBundle: null,
    errorCode: null,
    errorMessage: null,
    errorFix: null,
  });
  assert.ok((answer.usage.totalTokens ?? 0) > 0);
});

test("[H3] [B1] a bucket that does not answer is blobs_unavailable, with the time to wait before a retry", async (t) => {
  const bucket = await startFakeS3();
  t.after(() => bucket.close());
  const { accessKeyId, secretAccessKey, region, endpoint } = bucket;
  const blobs = s3Blobs({
    ...{ url: `s3://${bucket.bucket}`, endpoint, region, pathStyle: null },
    credentials: { accessKeyId, secretAccessKey, sessionToken: null },
    retryPolicy: { attemptsMax: 2, backoffMs: 1, backoffMaxMs: 1 },
  });
  const { call, door, admin } = await testDoor(t, { blobs });
  const { turnId } = await answerOf(await call(`POST ${execute}`, { json: { instruction: "hello" } }));
  const send = async (line: string, body?: string): Promise<Response> => {
    const [method = "", path = ""] = line.split(" ");
    const headers = { authorization: `Bearer ${admin.key}`, "content-type": "application/json" };
    return await door.fetch(new Request(`http://localhost:4870${path}`, { method, headers, ...(body && { body }) }));
  };
  const outages = [
    { method: "PUT", line: `POST ${execute}`, body: JSON.stringify({ instruction: "again" }) },
    { method: "GET", line: `GET /api/turns/${turnId}/answer` },
  ];
  for (const { method, line, body } of outages) {
    for (const [after, headers] of [
      ["5", {}],
      ["30", { "retry-after": "30" }],
    ] as const) {
      bucket.next(method, ...Array.from({ length: 2 }, () => ({ how: "refuse" as const, status: 503, headers })));
      const refused = await send(line, body);
      const { code, detail } = (await refused.json()) as { code: string; detail: string };
      assert.deepEqual([refused.status, code, refused.headers.get("retry-after")], [503, "blobs_unavailable", after]);
      assert.match(detail, /S3 responded with 503/);
    }
  }
  assert.equal((await send(`POST ${execute}`, JSON.stringify({ instruction: "again" }))).status, 200);
});

test("[H1] plain text is the instruction, and the query has the rest", async (t) => {
  const { call, engine, provider, admin } = await testDoor(t);
  const query = new URLSearchParams([
    ["mode", "edit"],
    ["workspaceId", "laptop"],
    ["paths", "src/a"],
    ["paths", "src/b"],
    ["sessionName", "Mine"],
    ["temperature", "0.5"],
  ]);
  const body = "naïve \u{1f600}\nsecond line\n";
  const response = await call(`POST ${execute}?${query}`, { body, headers: { "content-type": "text/plain" } });
  const { sessionId, turnId } = await answerOf(response);
  const turn = await engine.turns.get(admin, turnId);
  assert.partialDeepStrictEqual(turn, {
    mode: "edit",
    workspaceId: "laptop",
    manifest: { settings: { temperature: 0.5 } },
  });
  assert.equal((await engine.sessions.get(admin, sessionId)).name, "Mine");
  assert.equal(await (await engine.turns.read(admin, turnId)).instruction(), body);
  assert.equal(provider.exchanges.length, 1);
});

test("[H1] multipart has files beside the JSON; a listed file gets its content", async (t) => {
  const { call, engine, admin } = await testDoor(t);
  const form = new FormData();
  form.set(
    "request",
    JSON.stringify({ instruction: "look", activeFiles: [{ path: "src/listed.ts", isTouched: true }] }),
  );
  form.append("file", new Blob(["one\r\n"]), "src/listed.ts");
  form.append("file", new Blob([Buffer.from("größer")]), "added.txt");
  const { turnId } = await answerOf(await call(`POST ${execute}`, { body: form }));
  const { activeFiles } = (await engine.turns.get(admin, turnId)).manifest;
  assert.deepEqual(
    activeFiles.map(({ path, sizeBytes, isTouched, wasSentToLLM }) => ({ path, sizeBytes, isTouched, wasSentToLLM })),
    [
      { path: "src/listed.ts", sizeBytes: 5, isTouched: true, wasSentToLLM: true },
      { path: "added.txt", sizeBytes: 8, isTouched: false, wasSentToLLM: true },
    ],
  );
  const [, context = ""] = await (await engine.turns.read(admin, turnId)).message();
  assert.match(context, /one\r\n/);
});

test("[H1] a second file of the same name is refused as it is in JSON, and is not dropped", async (t) => {
  const { refused, provider } = await testDoor(t);
  for (const request of [{}, { activeFiles: [{ path: "a" }] }, { activeFiles: [{ path: "a" }, { path: "a" }] }]) {
    const form = new FormData();
    form.set("request", JSON.stringify({ instruction: "look", ...request }));
    for (const content of ["one", "two"]) form.append("file", new Blob([content]), "a");
    const { detail } = await refused("active_file_invalid", `POST ${execute}`, { body: form });
    assert.match(detail, /"a" is given twice/);
  }
  assert.equal(provider.exchanges.length, 0);
});

test("[H1] [I1] input comes as JSON, and its files as parts of a form; a fault in it has a code", async (t) => {
  const { call, client, refused } = await testDoor(t);
  const form = new FormData();
  const input = [
    { type: "text", text: "and this" },
    { type: "file", path: "a.txt", mode: "inline" },
    { type: "binary", data: Buffer.from("raw").toString("base64"), name: "b.bin" },
  ];
  form.set("request", JSON.stringify({ instruction: "look", input }));
  form.append("file", new Blob(["of a form"]), "a.txt");
  form.append("file", new Blob(["active"]), "c.txt");
  const { turnId } = await answerOf(await call(`POST ${execute}`, { body: form }));
  const turn = await client().turns.get(turnId);
  assert.equal(turn.instructionSummary, "look\n\nand this");
  assert.deepEqual(
    turn.input.map(({ type, mode, name, bytes }) => [type, mode, name, bytes]),
    [
      ["file", "inline", "a.txt", 9],
      ["binary", "file", "b.bin", 3],
    ],
  );
  assert.deepEqual(
    turn.manifest.activeFiles.map(({ path }) => path),
    ["c.txt"],
  );
  const faults: [code: ErrorCode, part: object][] = [
    ["input_part_invalid", { type: "video" }],
    ["input_part_invalid", { type: "binary", data: "%%" }],
    ["input_part_invalid", { type: "file", path: "x", content: "a", contentBase64: "YQ==" }],
    ["input_part_unsupported", { type: "binary", data: "iVBORw0KGgo=", mode: "inline" }],
    ["url_refused", { type: "url", url: "http://127.0.0.1/" }],
  ];
  for (const [code, part] of faults)
    await refused(code, `POST ${execute}`, { json: { instruction: "x", input: [part] } });
  const steered = { instruction: "x", ifBusy: "steer", input };
  await refused("request_invalid", `POST ${execute}`, { json: steered });
});

test("[H1] the three ways give the same turn", async (t) => {
  const { call, provider } = await testDoor(t);
  const request = {
    instruction: "same",
    mode: "edit",
    toolChoiceName: "look",
    toolsJson: '[{"name":"look","parameters":{"type":"object"}}]',
  };
  const { instruction, ...scalars } = request;
  const form = new FormData();
  form.set("request", new Blob([JSON.stringify(request)], { type: "application/json" }));
  await call(`POST ${execute}`, { json: request });
  await call(`POST ${execute}`, { body: form });
  const query = new URLSearchParams(scalars);
  await call(`POST ${execute}?${query}`, {
    body: instruction,
    headers: { "content-type": "text/plain; charset=UTF-8" },
  });
  const [first, ...others] = provider.exchanges.map((exchange) => exchange.request.body);
  assert.equal(others.length, 2);
  for (const other of others) assert.equal(other, first);
});

test("[H1] [S5] responseContinuationId continues exactly there, with or without the session's id", async (t) => {
  const { call, refused, engine, admin } = await testDoor(t);
  const first = await answerOf(
    await call(`POST ${execute}`, { json: { instruction: "one", responseContinuationId: "" } }),
  );
  const more = { instruction: "two", responseContinuationId: first.responseContinuationId };
  const second = await answerOf(await call(`POST ${execute}`, { json: more }));
  assert.equal(second.sessionId, first.sessionId);
  assert.equal((await engine.turns.get(admin, second.turnId)).parentId, first.turnId);
  const moved = await refused("head_moved", `POST ${execute}`, { json: { ...more, sessionId: first.sessionId } });
  assert.equal(moved["headTurnId"], second.turnId);
});

test("[H1] [T12] a turn that failed is an answer of kind error, with the model's text so far", async (t) => {
  const script = () => [{ says: "half an ans" }, { fails: "provider_refused_content", message: "not this" } as const];
  const { call } = await testDoor(t, { script });
  const answer = await answerOf(await call(`POST ${execute}`, { json: { instruction: "x" } }));
  assert.partialDeepStrictEqual(answer, {
    kind: "error",
    text: "half an ans",
    stopReason: null,
    errorCode: "provider_refused_content",
    errorMessage: "not this",
    errorFix: fixes.provider_refused_content,
  });
});

test("[H1] [T9] [V5] calls of the client's tools are returned, and their results continue the session", async (t) => {
  const script = (_call: unknown, n: number) => (n === 1 ? [{ calls: "look", with: { at: 1 }, callId: "c1" }] : "seen");
  const { call, refused } = await testDoor(t, { script });
  const tools = [{ type: "function", name: "look", parameters: { type: "object" }, description: null }];
  const asked = await answerOf(await call(`POST ${execute}`, { json: { instruction: "x", tools } }));
  assert.equal(asked.kind, "tool_calls");
  assert.deepEqual(asked.toolCalls, [{ callId: "c1", name: "look", arguments: '{"at":1}', waitsFor: "client" }]);
  const { sessionId } = asked;
  const both = [{ callId: "c1", output: "", error: "no" }];
  await refused("tool_feedback_invalid", `POST ${execute}`, { json: { sessionId, toolResults: both } });
  await refused("tool_feedback_invalid", `POST ${execute}`, {
    json: { sessionId, toolResults: [{ callId: "c2", output: "" }] },
  });
  const toolResults = [{ callId: "c1", error: "denied" }];
  const answer = await answerOf(await call(`POST ${execute}`, { json: { sessionId, toolResults, tools } }));
  assert.equal(answer.text, "seen");
});

test("[X7] [H1] in edit mode the answer's file bundle is parsed; an invalid one is a warning", async (t) => {
  const bundle = { root: ".", files: [{ path: "a.ts", operation: "create", content: "a" }] };
  const texts = [bundle, { ...bundle, files: [{ path: "../a.ts", operation: "delete" }] }];
  const script = (_call: unknown, n: number) =>
    `Here:\n\`\`\`json\n${JSON.stringify(texts[n - 1] ?? bundle)}\n\`\`\`\n`;
  const { call } = await testDoor(t, { script });
  const run = async (mode: string) => answerOf(await call(`POST ${execute}`, { json: { instruction: "x", mode } }));
  assert.deepEqual((await run("edit")).fileBundle, bundle);
  const bad = await run("edit");
  assert.equal(bad.fileBundle, null);
  assert.match(bad.warnings.find((one) => one.code === "file_bundle_invalid")?.message ?? "", /\.\.\/a\.ts/);
  const asked = await run("ask");
  assert.deepEqual([asked.fileBundle, asked.warnings], [null, []]);
});

test("[V3] transport stream answers at once with the address of the events", async (t) => {
  const held = Promise.withResolvers<void>();
  const { call } = await testDoor(t, { script: () => [{ waits: held.promise }, { says: "done" }] });
  const response = await call(`POST ${execute}`, { json: { instruction: "x", transport: "stream" } });
  assert.equal(response.status, 202);
  const { turnId, sessionId, streamKey, eventsUrl } = (await response.json()) as Record<string, string>;
  assert.equal(sessionId, turnId);
  assert.ok(streamKey?.includes(turnId ?? "?"));
  assert.equal(response.headers.get("location"), eventsUrl);
  const events = await call(`GET ${eventsUrl ?? ""}`);
  held.resolve();
  const types = sseMessages(await events.text()).map(({ data }) => (JSON.parse(data) as { type: string }).type);
  assert.equal(types.at(-1), "RUN_FINISHED");
});

for (const [how, more] of [
  ["the Accept header", { headers: { accept: "text/event-stream" } }],
  ["transport sse", { json: { instruction: "x", transport: "sse" } }],
  ["stream true", { json: { instruction: "x", stream: true } }],
] as const) {
  test(`[V3] [H1] ${how} makes the answer the stream of events`, async (t) => {
    const { call } = await testDoor(t);
    const response = await call(`POST ${execute}`, { json: { instruction: "x" }, ...more });
    assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
    const messages = sseMessages(await response.text());
    assert.deepEqual(
      messages.map(({ id }) => id.split(":")[1]),
      messages.map((_, index) => String(index + 1)),
    );
  });
}

test("[V3] the transport in the body wins over the Accept header", async (t) => {
  const { call } = await testDoor(t);
  const headers = { accept: "text/event-stream" };
  const plain = await call(`POST ${execute}`, { json: { instruction: "x", stream: false }, headers });
  assert.equal((await answerOf(plain)).kind, "answer");
  const later = await call(`POST ${execute}`, { json: { instruction: "x", transport: "stream" }, headers });
  assert.equal(later.status, 202);
});

test("[T13] [H1] the same key and request give the same turn, whatever the way; another request is refused", async (t) => {
  const { call, refused, provider } = await testDoor(t);
  const headers = { "idempotency-key": "once" };
  const first = await answerOf(await call(`POST ${execute}`, { json: { instruction: "x", mode: "ask" }, headers }));
  const again = await answerOf(await call(`POST ${execute}`, { json: { mode: "ask", instruction: "x" }, headers }));
  assert.deepEqual(again, first);
  const asText = { body: "x", headers: { ...headers, "content-type": "text/plain" } };
  assert.equal((await answerOf(await call(`POST ${execute}?mode=ask`, asText))).turnId, first.turnId);
  assert.equal(provider.exchanges.length, 1);
  await refused("idempotency_key_reused", `POST ${execute}`, { json: { instruction: "y", mode: "ask" }, headers });
  await refused("request_invalid", `POST ${execute}`, {
    json: { instruction: "x" },
    headers: { "idempotency-key": "k".repeat(256) },
  });
});

test("[T13] a request that is sent again while its turn runs follows that turn", async (t) => {
  const held = Promise.withResolvers<void>();
  const { call, provider } = await testDoor(t, { script: () => [{ says: ["a", held.promise, "b"] }] });
  const more = { json: { instruction: "x" }, headers: { "idempotency-key": "k", accept: "text/event-stream" } };
  const [first, second] = await Promise.all([call(`POST ${execute}`, more), call(`POST ${execute}`, more)]);
  held.resolve();
  assert.equal(await second.text(), await first.text());
  assert.equal(provider.exchanges.length, 1);
});

test("[M1] [M2] [H1] a client sends its rules and its place, and the turn shows both", async (t) => {
  const { call, refused, provider } = await testDoor(t);
  const place = { folder: "src", platform: "darwin", date: "2026-11-23", modified: ["a.ts"] };
  const rules = [
    { path: "AGENTS.md", text: "Use tabs." },
    { path: "src/AGENTS.md", fault: "it is not text" },
  ];
  const response = await call(`POST ${execute}`, { json: { instruction: "hello", rules, place } });
  const answer = await answerOf(response);
  assert.deepEqual(
    answer.warnings.map(({ message }) => message),
    ["the rules in src/AGENTS.md are not used: it is not text"],
  );
  assert.match(provider.exchanges[0]?.call.prompt ?? "", /Use tabs\./);
  const shown = (await (await call(`GET /api/turns/${answer.turnId}`)).json()) as { manifest: unknown };
  assert.partialDeepStrictEqual(shown.manifest, {
    rules: { files: [{ path: "AGENTS.md", sizeBytes: 9 }] },
    place: { folder: "src", platform: "darwin", date: "2026-11-23", branch: null, modifiedFiles: 1, wasSent: true },
  });
  for (const wrong of [{ rules: [{ path: "../AGENTS.md", text: "x" }] }, { rules: "x" }, { place: { folder: "." } }]) {
    await refused("request_invalid", `POST ${execute}`, { json: { instruction: "hello", ...wrong } });
  }
});

test("[M4] [H1] a client sends its skills, and the turn shows what was offered; the folder is never the client's to name", async (t) => {
  const { call, refused } = await testDoor(t);
  const path = ".agents/skills/release/SKILL.md";
  const skills = [
    { path, text: "---\ndescription: Makes a release.\n---\n" },
    { path: ".agents/skills/x/SKILL.md", fault: "it is not text" },
  ];
  const answer = await answerOf(await call(`POST ${execute}`, { json: { instruction: "hello", skills } }));
  assert.deepEqual(
    answer.warnings.map(({ code, message }) => `${code}: ${message}`),
    ["skills_skipped: the skill .agents/skills/x/SKILL.md is not offered: it is not text"],
  );
  const shown = (await (await call(`GET /api/turns/${answer.turnId}`)).json()) as { manifest: unknown };
  assert.partialDeepStrictEqual(shown.manifest, {
    skills: { offered: [{ name: "release", source: "repository", path }], wasSent: true },
  });
  for (const wrong of ["x", [{ text: "x" }], [{ path, text: "x", root: "/etc" }]]) {
    await refused("request_invalid", `POST ${execute}`, { json: { instruction: "hello", skills: wrong } });
  }
});

test("[C6] [H1] a request may have the history summarised first, as JSON and in the query", async (t) => {
  const isSummary = (prompt: string | null): boolean => prompt?.startsWith("You condense") === true;
  const { call, provider, refused } = await testDoor(t, {
    script: ({ prompt }) => (isSummary(prompt) ? "the gist" : "fine"),
  });
  const first = await answerOf(await call(`POST ${execute}`, { json: { instruction: "remember heron" } }));
  const { sessionId } = first;
  const summaries = (): number => provider.exchanges.filter((one) => isSummary(one.call.prompt)).length;
  const json = { sessionId, instruction: "which word?", compact: true };
  const second = await answerOf(await call(`POST ${execute}`, { json }));
  assert.deepEqual([second.kind, summaries()], ["answer", 1]);
  assert.match(JSON.stringify(provider.exchanges.at(-1)?.context), /the gist.*which word/s);
  const headers = { "content-type": "text/plain" };
  await call(`POST ${execute}?sessionId=${sessionId}&compact=true`, { body: "and now?", headers });
  assert.equal(summaries(), 2);
  const steer = { ...json, ifBusy: "steer" };
  await refused("request_invalid", `POST ${execute}`, { json: steer });
});

test("[H1] [T11] a turn that was accepted has an answer with its id, although neither its end nor anything else could be stored", async (t) => {
  const records = memoryRecords();
  const { finish, get } = records.turns;
  let isAway = false;
  const away = () => Promise.reject(new AptoveError("storage_failed", "the database is away"));
  records.turns.finish = (end) => (isAway ? away() : finish.call(records.turns, end));
  records.turns.get = (id) => (isAway ? away() : get.call(records.turns, id));
  const script = () => ((isAway = true), [{ says: ["an answer"] }]);
  const { call, engine, admin } = await testDoor(t, { records, script });
  const response = await call(`POST ${execute}`, { json: { instruction: "hello" } });
  assert.equal(response.status, 200);
  const answer = await answerOf(response);
  assert.partialDeepStrictEqual(answer, { kind: "error", errorCode: "storage_failed" });
  isAway = false;
  assert.equal((await engine.turns.get(admin, answer.turnId)).status, "pending");
});

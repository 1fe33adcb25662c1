/** Every route except execute and the streams: its answers, on the real engine (H2). */
import { limits } from "../../domain/limits.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { isId, newId } from "../../domain/ids.ts";
import type { ExecuteAnswer } from "../../protocol/execute.ts";
import type { WireCreatedKey } from "../../protocol/key.ts";
import type { WireSession, WireSessionList } from "../../protocol/session.ts";
import type { WireTurn, WireTurnContext, WireTurnList, WireTurnSummary } from "../../protocol/turn.ts";
import { memoryEventLog } from "../../live/memory/memory-event-log.ts";
import { noObserver } from "../../telemetry/observer.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import type { Script } from "../../providers/scripted/scripted.ts";
import { testDoor, type Person, type TestDoor } from "../../../testing/http-door.ts";

const execute = "/api/ai/agent/execute";

async function get<T>({ call }: TestDoor, at: string): Promise<T> {
  return (await (await call(`GET ${at}`)).json()) as T;
}

async function run({ call }: TestDoor, json: object = { instruction: "hello" }): Promise<ExecuteAnswer> {
  return (await (await call(`POST ${execute}`, { json })).json()) as ExecuteAnswer;
}

test("[S1] [S2] [H2] a session is created, read and changed; a name that was set stays", async (t) => {
  const door = await testDoor(t);
  const start = { description: "about", labels: ["a", "b"], metadata: { deep: { n: [1, null] } }, repo: "shop" };
  const made = await door.call("POST /api/sessions", { json: start });
  const session = (await made.json()) as WireSession;
  assert.equal(made.headers.get("location"), `/api/sessions/${session.id}`);
  assert.partialDeepStrictEqual(session, { ...start, turnCount: 0, headTurnId: null, userId: door.admin.userId });
  assert.deepEqual(await get(door, `/api/sessions/${session.id}`), session);
  const patch = { name: "Mine", category: "c", rating: 4.5, isPublic: true };
  const patched = await door.call(`PATCH /api/sessions/${session.id}`, { json: patch });
  assert.partialDeepStrictEqual(await patched.json(), { ...start, ...patch });
  const cleared = await door.call(`PATCH /api/sessions/${session.id}`, { json: { category: null, rating: null } });
  assert.partialDeepStrictEqual(await cleared.json(), { name: "Mine", category: null, rating: null });
  await run(door, { instruction: "first line", sessionId: session.id, repo: null });
  assert.equal((await get<WireSession>(door, `/api/sessions/${session.id}`)).name, "Mine");
});

test("[W3] a session that continues a workspace needs one that exists, and excludes a fork", async (t) => {
  const { refused } = await testDoor(t);
  const start = { continueWorkspace: true };
  await refused("request_invalid", "POST /api/sessions", { json: start });
  await refused("request_invalid", "POST /api/sessions", {
    json: { ...start, workspaceId: "default", forkOf: newId() },
  });
  await refused("workspace_unknown", "POST /api/sessions", { json: { ...start, workspaceId: "default" } });
});

test("[S3] the owner of a session never comes from the body", async (t) => {
  const { refused } = await testDoor(t);
  for (const field of ["userId", "orgId", "id", "headTurnId"]) {
    await refused("request_invalid", "POST /api/sessions", { json: { [field]: newId() } });
    await refused("request_invalid", `POST ${execute}`, { json: { instruction: "x", session: { [field]: newId() } } });
  }
});

test("[S7] a list row has both contexts with their names, the last turn and what it cost", async (t) => {
  const door = await testDoor(t);
  const { sessionId, usage } = await run(door, { instruction: "hello", workspaceId: "laptop" });
  const { sessions } = await get<WireSessionList>(door, "/api/sessions");
  assert.equal(sessions.length, 1);
  assert.partialDeepStrictEqual(sessions[0], {
    id: sessionId,
    name: "hello",
    agentContextId: "default",
    agentContextName: "Default",
    conversationContextId: "default",
    conversationContextName: "Default",
    lastTurnStatus: "completed",
    turnCount: 1,
    workspaceId: "laptop",
    repo: null,
    tokensTotal: usage.totalTokens,
    hasUncountedTokens: false,
    lastTurnStopReason: "stop",
    costUsd: 0,
  });
  assert.match(sessions[0]?.lastTurnAt ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test("[S7] [T10] a list says of each session whether its last turn was stopped, and whether tokens are not counted", async (t) => {
  const records = memoryRecords();
  let reads = 0;
  const { list, listLast } = records.turns;
  Object.assign(records.turns, {
    list: async (...asked: Parameters<typeof list>) => ((reads += 1), await list(...asked)),
    listLast: async (ids: readonly string[]) => ((reads += 1), await listLast(ids)),
  });
  const script: Script = ({ items }) =>
    JSON.stringify(items).includes("long") ? [{ says: ["so far", new Promise(() => {})] }] : "ok";
  const door = await testDoor(t, { records, script });
  const plain = await run(door, { instruction: "short" });
  const stopped = await door.engine.turns.run(door.admin, { instruction: "long" });
  for await (const { event } of await door.engine.turns.events(door.admin, stopped.turnId, { afterSeq: 0 }))
    if (event.type === "text_delta") await door.engine.turns.interrupt(door.admin, { turnId: stopped.turnId });
  reads = 0;
  const { sessions } = await get<WireSessionList>(door, "/api/sessions");
  assert.equal(reads, 1, "one read for all sessions");
  const facts = sessions.map(({ id, lastTurnStopReason, hasUncountedTokens }) => [
    id,
    lastTurnStopReason,
    hasUncountedTokens,
  ]);
  assert.deepEqual(facts, [
    [stopped.sessionId, "interrupted", true],
    [plain.sessionId, "stop", false],
  ]);
  const other = await door.person("member");
  assert.deepEqual(
    await door.engine.sessions.lastTurns(other, [await door.engine.sessions.get(door.admin, plain.sessionId)]),
    [],
  );
});

test("[S7] pages follow each other by a cursor, newest activity first, and filters hold", async (t) => {
  const door = await testDoor(t);
  const ids: string[] = [];
  for (let n = 0; n < 5; n++)
    ids.unshift((await door.engine.sessions.create(door.admin, { repo: n % 2 ? "odd" : "even" })).id);
  const seen: string[] = [];
  let next: string | null = "";
  while (next !== null) {
    const at: string = next === "" ? "/api/sessions?limit=2" : `/api/sessions?limit=2&cursor=${next}`;
    const page: WireSessionList = await get(door, at);
    seen.push(...page.sessions.map(({ id }) => id));
    next = page.nextCursor;
  }
  assert.deepEqual(seen.toSorted(), ids.toSorted());
  const odd = await get<WireSessionList>(door, "/api/sessions?repo=odd");
  assert.deepEqual(
    odd.sessions.map(({ repo }) => repo),
    ["odd", "odd"],
  );
  for (const query of [
    "cursor=x",
    "cursor=",
    "limit=0",
    "limit=201",
    "limit=many",
    "archived=yes",
    "lmit=1",
    "limit=1&limit=2",
  ]) {
    await door.refused("request_invalid", `GET /api/sessions?${query}`);
  }
  const { detail } = await door.refused("request_invalid", "GET /api/sessions?limit=abc");
  assert.equal(detail, "limit is not a whole number from 1 to 200");
});

test("[T4] [H2] turns are listed newest first, as summaries; the last one is complete", async (t) => {
  const door = await testDoor(t);
  const { sessionId } = await run(door);
  for (const instruction of ["two", "three"]) await run(door, { instruction, sessionId });
  const at = `/api/sessions/${sessionId}/turns`;
  const page = await get<WireTurnList>(door, `${at}?limit=2`);
  assert.deepEqual(
    page.turns.map(({ instructionSummary }) => instructionSummary),
    ["three", "two"],
  );
  const rest = await get<WireTurnList>(door, `${at}?limit=2&before=${page.nextBefore}`);
  assert.deepEqual(
    rest.turns.map(({ sequence }) => sequence),
    [1],
  );
  assert.equal(rest.nextBefore, null);
  const last = await get<WireTurn>(door, `${at}/last`);
  assert.equal(last.instructionSummary, "three");
  assert.deepEqual(await get(door, `/api/turns/${last.id}`), last);
  const empty = await door.engine.sessions.create(door.admin, {});
  await door.refused("not_found", `GET /api/sessions/${empty.id}/turns/last`);
  assert.deepEqual(await get(door, `/api/sessions/${empty.id}/turns`), { turns: [], nextBefore: null });
});

test("[T4] [E7] [D3] a turn has the model's input and output, byte for byte", async (t) => {
  const door = await testDoor(t);
  const content = "x".repeat(102_401);
  const activeFiles = [
    { path: "big.txt", content },
    { path: "a.ts", content: "let a;" },
    { path: "old.ts", sha256: "0".repeat(64) },
  ];
  const { turnId, text, warnings } = await run(door, { instruction: "look\nhere", activeFiles });
  const turn = await get<WireTurn>(door, `/api/turns/${turnId}`);
  assert.deepEqual(turn.warnings, warnings);
  assert.partialDeepStrictEqual(turn, {
    status: "completed",
    answerSummary: text,
    mode: "ask",
    run: { modelRequests: 1 },
  });
  assert.deepEqual(
    turn.manifest.skippedFiles.map(({ path, reason }) => [path, reason]),
    [
      ["big.txt", "too_large"],
      ["old.ts", "content_missing"],
    ],
  );
  const [step] = turn.steps;
  const [exchange] = door.provider.exchanges;
  assert.ok(step !== undefined && exchange !== undefined && turn.steps.length === 1);
  const sent = await door.call(`GET /api/turns/${turnId}/request?step=1`);
  assert.equal(sent.headers.get("content-type"), "application/octet-stream");
  const bytes = Buffer.from(await sent.arrayBuffer());
  assert.equal(bytes.toString(), exchange.request.body);
  assert.equal(step.requestBytes, bytes.length);
  assert.ok((await (await door.call(`GET /api/turns/${turnId}/response?step=1`)).arrayBuffer()).byteLength > 0);
  const context = await get<WireTurnContext>(door, `/api/turns/${turnId}/context`);
  assert.deepEqual(context.manifest, turn.manifest);
  assert.equal(context.message[0], "[MODE: ask]\n\n[INSTRUCTION]\nlook\nhere");
  assert.match(context.message[1] ?? "", /let a;/);
  for (const what of ["request", "response"]) {
    await door.refused("not_found", `GET /api/turns/${turnId}/${what}?step=2`);
    for (const query of ["", "?step=0", "?step=x", "?step=1&step=1"]) {
      await door.refused("request_invalid", `GET /api/turns/${turnId}/${what}${query}`);
    }
  }
});

test("[H1] [H2] the answer and the instruction can be read again, as JSON and as text", async (t) => {
  const door = await testDoor(t, { script: () => "größer\n" });
  const answer = await run(door, { instruction: "an\ninstruction \u{1f600}" });
  const at = `/api/turns/${answer.turnId}`;
  assert.deepEqual(await get(door, `${at}/answer`), answer);
  const asText = await door.call(`GET ${at}/answer`, { headers: { accept: "text/plain" } });
  assert.equal(asText.headers.get("content-type"), "text/plain; charset=utf-8");
  assert.equal(await asText.text(), "größer\n");
  assert.equal(await (await door.call(`GET ${at}/instruction`)).text(), "an\ninstruction \u{1f600}");
  const summary = await get<WireTurnSummary>(door, `${at}/summary`);
  assert.partialDeepStrictEqual(summary, {
    answerSummary: "größer\n",
    usage: answer.usage,
    failures: [],
    warningCount: 0,
  });
});

test("[T10] [V4] interrupting by turn and by session, before any text, and once more", async (t) => {
  const door = await testDoor(t, { script: () => [{ waits: new Promise(() => undefined) }] });
  for (const kind of ["turns", "sessions"]) {
    const started = await door.call(`POST ${execute}`, { json: { instruction: "x", transport: "stream" } });
    const { turnId, sessionId } = (await started.json()) as { turnId: string; sessionId: string };
    await door.refused("turn_not_finished", `GET /api/turns/${turnId}/answer`);
    const at = `/api/${kind}/${kind === "turns" ? turnId : sessionId}/interrupt`;
    assert.deepEqual(await (await door.call(`POST ${at}`)).json(), { interruptedTurnId: turnId });
    await (await door.call(`GET /api/turns/${turnId}/events`)).text();
    assert.deepEqual(await (await door.call(`POST ${at}`)).json(), { interruptedTurnId: null });
    const answer = await get<ExecuteAnswer>(door, `/api/turns/${turnId}/answer`);
    assert.partialDeepStrictEqual(answer, { kind: "error", errorCode: "interrupted" });
  }
});

test("[H4] keys are created, listed without their secret, used and revoked", async (t) => {
  const door = await testDoor(t);
  const made = await door.call("POST /api/keys", { json: { name: "phone", expiresAt: "2999-01-01T00:00:00Z" } });
  const { key, secret } = (await made.json()) as WireCreatedKey;
  assert.partialDeepStrictEqual(key, { name: "phone", expiresAt: "2999-01-01T00:00:00.000Z", revokedAt: null });
  assert.ok(isId(key.id) && secret.startsWith(key.prefix) && secret.length > key.prefix.length + 20);
  const phone = { ...door.admin, key: secret };
  assert.equal((await door.call("GET /api/me", { as: phone })).status, 200);
  const list = await (await door.call("GET /api/keys")).text();
  assert.ok(list.includes(key.id) && !list.includes(secret));
  assert.equal((await door.call(`DELETE /api/keys/${key.id}`)).status, 204);
  await door.refused("unauthenticated", "GET /api/me", { as: phone });
  await door.refused("not_found", `DELETE /api/keys/${key.id}`);
  const expired = { name: "old", expiresAt: "2001-01-01T00:00:00Z" };
  assert.match((await door.refused("request_invalid", "POST /api/keys", { json: expired })).detail, /in the future/);
});

test("[H2] the open routes answer without a key; ready means ready", async (t) => {
  const door = await testDoor(t);
  const open = { as: null };
  assert.deepEqual(await (await door.call("GET /healthz", open)).json(), { status: "ok", version: "test" });
  assert.partialDeepStrictEqual(await (await door.call("GET /readyz", open)).json(), { status: "ready" });
  const document = (await (await door.call("GET /openapi.json", open)).json()) as { openapi: string };
  assert.equal(document.openapi, "3.1.0");
  await door.engine.close({ graceMs: 0 });
  const closed = await door.door.fetch(new Request("http://localhost/readyz"));
  assert.equal(closed.status, 503);
  assert.deepEqual(await closed.json(), { status: "not_ready", version: "test" });
  assert.equal((await door.call("GET /healthz", open)).status, 200);
  await door.refused("shutting_down", `POST ${execute}`, { json: { instruction: "x" } });
});

test("[H2] what fails is named to admins only; a store that hangs is called once, and waited for no longer than the limit", async (t) => {
  let late = new AbortController();
  let asked = 0;
  const hanging = Promise.withResolvers<null>();
  const log = memoryEventLog();
  log.read = () => (asked++, hanging.promise);
  let now = 0;
  const options = { log, now: () => now, deadline: () => late.signal };
  const door = await testDoor(t, options);
  const asking = Array.from({ length: 50 }, () => door.door.fetch(new Request("http://localhost/readyz")));
  await setImmediate();
  late.abort();
  for (const answer of await Promise.all(asking)) {
    assert.equal(answer.status, 503);
    assert.deepEqual(await answer.json(), { status: "not_ready", version: "test" });
  }
  const detail = async (as: Person) => {
    const headers = { authorization: `Bearer ${as.key}` };
    return (await (await door.door.fetch(new Request("http://localhost/readyz", { headers }))).json()) as unknown;
  };
  const failing = { status: "not_ready", records: "ok", blobs: "ok", log: "failed", isShuttingDown: false };
  assert.partialDeepStrictEqual(await detail(door.admin), failing);
  assert.deepEqual(await detail(await door.person("member")), { status: "not_ready", version: "test" });
  now = 60_000;
  late = new AbortController();
  const again = detail(door.admin);
  await setImmediate();
  late.abort();
  assert.partialDeepStrictEqual(await again, failing);
  assert.equal(asked, 1);
  hanging.resolve(null);
  await hanging.promise;
  now = 120_000;
  late = new AbortController();
  assert.equal((await door.call("GET /readyz", { as: null })).status, 200);
});

test("[H2] whether the server can run turns is answered in time, although the records do not say whose key it is", async (t) => {
  const hanging = Promise.withResolvers<null>();
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { door } = await testDoor(t, { door: { authenticate: () => (ask(), hanging.promise) } });
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const headers = { authorization: "Bearer some-key" };
  const answering = door.fetch(new Request("http://localhost/readyz", { headers }));
  await asked;
  await setImmediate();
  t.mock.timers.tick(limits.healthAnswerMs);
  assert.deepEqual(await (await answering).json(), { status: "ready", version: "test" });
  hanging.resolve(null);
});

test("[H2] HEAD and OPTIONS work on existing paths and leave nothing open, and other methods get the allowed ones", async (t) => {
  let streams = 0;
  const stream = () => {
    streams += 1;
    return { within: <T>(work: () => T): T => work(), end: () => void (streams -= 1) };
  };
  const door = await testDoor(t, { door: { observer: { ...noObserver, stream } } });
  const { turnId } = await run(door);
  for (const at of ["/api/me", `/api/turns/${turnId}/events`, "/healthz"]) {
    const head = await door.call(`HEAD ${at}`);
    assert.deepEqual([head.status, head.body], [200, null]);
  }
  assert.equal(streams, 0);
  const options = await door.call("OPTIONS /api/sessions");
  assert.deepEqual([options.status, options.headers.get("allow")], [204, "GET, HEAD, POST, OPTIONS"]);
  for (const [at, allow] of [
    ["/api/sessions/import", "POST, OPTIONS"],
    [`/api/sessions/${turnId}`, "GET, HEAD, PATCH, DELETE, OPTIONS"],
    [`/api/sessions/${turnId}/head`, "PUT, GET, HEAD, OPTIONS"],
  ]) {
    assert.equal((await door.call(`OPTIONS ${at}`)).headers.get("allow"), allow);
  }
  await door.refused("not_found", "GET /api/sessions/import");
  const problem = await door.refused("method_not_allowed", "DELETE /api/sessions");
  assert.equal(problem["allow"], "GET, HEAD, POST, OPTIONS");
  await door.refused("method_not_allowed", `GET ${execute}`);
  const headers = { authorization: `Bearer ${door.admin.key}` };
  const head = await door.door.fetch(new Request(`http://localhost${execute}`, { method: "HEAD", headers }));
  assert.deepEqual([head.status, head.headers.get("allow")], [405, "POST, OPTIONS"]);
  for (const at of ["/api", "/api/nothing", "/api/sessions/", "/API/me", "//api/me", "/api/turns"]) {
    await door.refused("not_found", `GET ${at}`);
  }
});

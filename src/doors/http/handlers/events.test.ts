/** Streams of events: AG-UI on the wire, resuming anywhere, listeners that are slow or gone (V1, V2, R5). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../../domain/ids.ts";
import type { ExecuteAccepted } from "../../../protocol/execute.ts";
import { checkRun } from "../../../../testing/ag-ui-order.ts";
import { sseMessages, testDoor, type SseMessage, type TestDoor } from "../../../../testing/http-door.ts";

const execute = "/api/ai/agent/execute";

interface WireEvent {
  type: string;
  messageId?: string;
  toolCallId?: string;
  delta?: string;
  [field: string]: unknown;
}

async function started({ call }: TestDoor, json: object = { instruction: "x" }): Promise<ExecuteAccepted> {
  return (await (await call(`POST ${execute}`, { json: { ...json, transport: "stream" } })).json()) as ExecuteAccepted;
}

async function messagesOf({ call }: TestDoor, at: string, headers: Record<string, string> = {}): Promise<SseMessage[]> {
  return sseMessages(await (await call(`GET ${at}`, { headers })).text());
}

const eventOf = ({ data }: SseMessage) => JSON.parse(data) as WireEvent;

/** Joins adjacent deltas of one message, as V2 compares. */
function joined(events: readonly WireEvent[]): WireEvent[] {
  const whole: WireEvent[] = [];
  for (const event of events) {
    const last = whole.at(-1);
    const isSame =
      last?.type === event.type && last.messageId === event.messageId && last.toolCallId === event.toolCallId;
    if (isSame && event.delta !== undefined) last.delta = (last.delta ?? "") + event.delta;
    else whole.push({ ...event });
  }
  return whole;
}

const richScript = (_call: unknown, n: number) =>
  n === 1
    ? [{ thinks: "let me see" }, { says: "first I look", everyMs: 1 }, { calls: "look", with: { a: 1 }, callId: "c1" }]
    : [{ thinks: "now I know" }, { says: "it is this and that", everyMs: 1 }];

const lookTool = [{ name: "look", parameters: { type: "object" } }];

test("[V1] the stream is AG-UI: its schemas accept every event, the run begins once and ends once", async (t) => {
  const door = await testDoor(t, { script: richScript });
  const first = await started(door, { instruction: "x", tools: lookTool });
  const events = (await messagesOf(door, first.eventsUrl)).map(eventOf);
  const terminal = checkRun(events);
  assert.partialDeepStrictEqual(events[0], { type: "RUN_STARTED", threadId: first.sessionId, runId: first.turnId });
  const ends = events.filter(({ type }) => type === "RUN_FINISHED" || type === "RUN_ERROR");
  assert.equal(ends.length, 1);
  assert.equal(ends[0], terminal);
  assert.partialDeepStrictEqual(terminal, { outcome: { type: "success", pendingToolCallIds: ["c1"] } });
  const types = new Set(events.map(({ type }) => type));
  for (const type of [
    "REASONING_MESSAGE_CONTENT",
    "TEXT_MESSAGE_CONTENT",
    "TOOL_CALL_ARGS",
    "STEP_FINISHED",
    "CUSTOM",
  ]) {
    assert.ok(types.has(type), type);
  }
  const toolResults = [{ callId: "c1", output: "there" }];
  const second = await started(door, { sessionId: first.sessionId, toolResults, tools: lookTool });
  const resumed = (await messagesOf(door, second.eventsUrl)).map(eventOf);
  checkRun(resumed, ["c1"]);
  const [begin] = resumed;
  assert.partialDeepStrictEqual(begin, { threadId: first.sessionId, runId: second.turnId, parentRunId: first.turnId });
});

test("[V1] [T11] a failed run ends with one error, which has the code", async (t) => {
  const door = await testDoor(t, { script: () => [{ says: "a" }, { fails: "provider_refused_content" }] });
  const { eventsUrl } = await started(door);
  const events = (await messagesOf(door, eventsUrl)).map(eventOf);
  assert.partialDeepStrictEqual(events.at(-1), { type: "RUN_ERROR", code: "provider_refused_content" });
  assert.equal(events.filter(({ type }) => type.startsWith("RUN_")).length, 2);
});

test("[V1] [T10] an interrupted run with some text ends as cancelled", async (t) => {
  const door = await testDoor(t, { script: () => [{ says: ["begun ", new Promise(() => undefined)] }] });
  const { turnId, eventsUrl } = await started(door);
  const reader = (await door.call(`GET ${eventsUrl}`)).body?.getReader();
  let text = "";
  while (!text.includes("begun")) text += Buffer.from((await reader?.read())?.value ?? []).toString();
  const stopped = await door.call(`POST /api/turns/${turnId}/interrupt`);
  assert.deepEqual(await stopped.json(), { interruptedTurnId: turnId });
  for (;;) {
    const { done, value } = (await reader?.read()) ?? assert.fail();
    if (done) break;
    text += Buffer.from(value).toString();
  }
  assert.partialDeepStrictEqual(eventOf(sseMessages(text).at(-1) ?? assert.fail()), { outcome: { type: "cancelled" } });
});

test("[V2] at every split point, the received part and the resumed part make the whole", async (t) => {
  const door = await testDoor(t, { script: richScript });
  const { eventsUrl } = await started(door, { instruction: "x", tools: lookTool });
  const whole = await messagesOf(door, eventsUrl);
  assert.ok(whole.length > 15);
  for (const [index, { id }] of whole.entries()) {
    const rest = await messagesOf(door, eventsUrl, { "last-event-id": id });
    assert.deepEqual(rest, whole.slice(index + 1), `after ${id}`);
    assert.deepEqual(await messagesOf(door, `${eventsUrl}?after=${index + 1}`), rest);
    assert.deepEqual(await messagesOf(door, `${eventsUrl}?after=${id}`), rest);
  }
});

test("[V2] a stream that is left and resumed at every event gives the same whole", async (t) => {
  const pieces = ["a", "b", "c", "d"].flatMap((text) => [text, new Promise((resolve) => setImmediate(resolve))]);
  const door = await testDoor(t, { script: () => [{ says: pieces as (string | Promise<unknown>)[] }] });
  const { eventsUrl } = await started(door);
  const had: SseMessage[] = [];
  while (!had.at(-1)?.data.includes("RUN_FINISHED")) {
    const last = had.at(-1)?.id;
    const response = await door.call(`GET ${eventsUrl}`, {
      headers: last === undefined ? {} : { "last-event-id": last },
    });
    const reader = response.body?.getReader() ?? assert.fail();
    const { value } = await reader.read();
    had.push(...sseMessages(Buffer.from(value ?? []).toString()));
    await reader.cancel();
  }
  const whole = await messagesOf(door, eventsUrl);
  assert.deepEqual(joined(had.map(eventOf)), joined(whole.map(eventOf)));
  assert.deepEqual(
    had.map(({ id }) => id),
    whole.map(({ id }) => id),
  );
});

test("[V2] after the last event of a finished turn the status is 204", async (t) => {
  const door = await testDoor(t);
  const { eventsUrl } = await started(door);
  const last = (await messagesOf(door, eventsUrl)).at(-1);
  const response = await door.call(`GET ${eventsUrl}`, { headers: { "last-event-id": last?.id ?? "" } });
  assert.equal(response.status, 204);
});

test("[V2] an unknown or foreign id is refused before the stream starts, while the turn runs and after", async (t) => {
  const held = Promise.withResolvers<void>();
  const door = await testDoor(t, { script: (_call, n) => (n === 1 ? "done" : [{ waits: held.promise }]) });
  const finished = await started(door);
  const had = await messagesOf(door, finished.eventsUrl);
  const running = await started(door);
  const foreign = had[0]?.id ?? "";
  for (const { eventsUrl, turnId } of [finished, running]) {
    for (const id of ["garbage", "1 ", "-1", `${turnId}:0`, `${turnId}:999`, `${newId()}:1`, "\u00e9"]) {
      await door.refused("event_id_unknown", `GET ${eventsUrl}`, { headers: { "last-event-id": id } });
    }
    await door.refused("event_id_unknown", `GET ${eventsUrl}?after=999`);
  }
  await door.refused("event_id_unknown", `GET ${running.eventsUrl}`, { headers: { "last-event-id": foreign } });
  const ofSession = `GET /api/sessions/${running.sessionId}/events`;
  for (const id of [foreign, "garbage", "1", `${running.turnId}:999`])
    await door.refused("event_id_unknown", `${ofSession}?after=${id}`);
  held.resolve();
});

test("[V2] an idle stream has heartbeats, which are comments", async (t) => {
  const held = Promise.withResolvers<void>();
  const door = await testDoor(t, { script: () => [{ waits: held.promise }, { says: "x" }], door: { heartbeatMs: 5 } });
  const { eventsUrl } = await started(door);
  const reader = (await door.call(`GET ${eventsUrl}`)).body?.getReader() ?? assert.fail();
  let text = "";
  while (!text.includes(":\n\n:\n\n")) text += Buffer.from((await reader.read()).value ?? []).toString();
  held.resolve();
  for (let next = await reader.read(); !next.done; next = await reader.read())
    text += Buffer.from(next.value).toString();
  assert.deepEqual(sseMessages(text), await messagesOf(door, eventsUrl));
});

test("[R5] nothing is read ahead for a listener that reads nothing, and it delays no one else", async (t) => {
  const door = await testDoor(t, { script: () => "word ".repeat(500) });
  const slow = await door.call(`POST ${execute}`, { json: { instruction: "x", transport: "sse" } });
  const reader = slow.body?.getReader() ?? assert.fail();
  const begun = sseMessages(Buffer.from((await reader.read()).value ?? []).toString());
  const turnId = begun[0]?.id.split(":")[0] ?? assert.fail();
  const events = `/api/turns/${turnId}/events`;
  const quick = await messagesOf(door, events);
  assert.partialDeepStrictEqual(eventOf(quick.at(-1) ?? assert.fail()), { type: "RUN_FINISHED" });
  // The slow one still gets every event, from where it was.
  let rest = "";
  for (let next = await reader.read(); !next.done; next = await reader.read())
    rest += Buffer.from(next.value).toString();
  assert.deepEqual([...begun, ...sseMessages(rest)], quick);
});

test("[R5] a listener that leaves ends its stream and not the run", async (t) => {
  const held = Promise.withResolvers<void>();
  const door = await testDoor(t, { script: () => [{ waits: held.promise }, { says: "done" }] });
  const gone = new AbortController();
  const json = { instruction: "x", transport: "sse" };
  const left = await door.call(`POST ${execute}`, { json, signal: gone.signal });
  const cancelled = await door.call(`POST ${execute}`, { json });
  const reader = left.body?.getReader() ?? assert.fail();
  const [{ id } = assert.fail()] = sseMessages(Buffer.from((await reader.read()).value ?? []).toString());
  await cancelled.body?.cancel();
  gone.abort();
  while (!(await reader.read()).done);
  held.resolve();
  const turnId = id.split(":")[0] ?? "";
  const types = (await messagesOf(door, `/api/turns/${turnId}/events`)).map((message) => eventOf(message).type);
  assert.equal(types.at(-1), "RUN_FINISHED");
  assert.deepEqual(door.reports, []);
});

test("[V2] [B3] a turn whose events are damaged is refused before the stream starts", async (t) => {
  const door = await testDoor(t);
  const { turnId, eventsUrl } = await started(door);
  const whole = await messagesOf(door, eventsUrl);
  const turn = await door.engine.turns.get(door.admin, turnId);
  assert.ok(turn.blobs.run !== null);
  await door.deps.blobs.delete(turn.blobs.run);
  const problem = await door.refused("blob_missing", `GET ${eventsUrl}`, {
    headers: { "last-event-id": whole[0]?.id ?? "" },
  });
  assert.ok(problem.detail.includes(turnId));
});

test("[V2] [H2] a session's events continue after the named one through every later turn", async (t) => {
  const door = await testDoor(t);
  const empty = await door.engine.sessions.create(door.admin, {});
  assert.equal((await door.call(`GET /api/sessions/${empty.id}/events`)).status, 204);
  await door.refused("event_id_unknown", `GET /api/sessions/${empty.id}/events?after=garbage`);
  const first = await started(door);
  const one = await messagesOf(door, first.eventsUrl);
  const { sessionId } = first;
  const rest: SseMessage[] = [];
  for (const instruction of ["y", "z"])
    rest.push(...(await messagesOf(door, (await started(door, { sessionId, instruction })).eventsUrl)));
  const at = `/api/sessions/${sessionId}/events`;
  assert.deepEqual(await messagesOf(door, at, { "last-event-id": one[2]?.id ?? "" }), [...one.slice(3), ...rest]);
  assert.deepEqual(await messagesOf(door, at), rest.slice(rest.length / 2));
  // An empty header is none, so the query counts.
  const none = { "last-event-id": "" };
  assert.deepEqual(await messagesOf(door, `${first.eventsUrl}?after=2`, none), one.slice(2));
  assert.deepEqual(await messagesOf(door, `${at}?after=${one[2]?.id ?? ""}`, none), [...one.slice(3), ...rest]);
  assert.deepEqual(await messagesOf(door, at, { "last-event-id": rest.at(-1)?.id ?? "" }), []);
  const other = await started(door);
  const [foreign] = await messagesOf(door, other.eventsUrl);
  await door.refused("event_id_unknown", `GET ${at}`, { headers: { "last-event-id": foreign?.id ?? "" } });
  await door.refused("event_id_unknown", `GET /api/sessions/${empty.id}/events?after=${foreign?.id ?? ""}`);
  await door.refused("not_found", `GET ${at}`, { headers: { "last-event-id": `${newId()}:1` } });
});

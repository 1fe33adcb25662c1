/** The client with a real HTTP door and engine: every method, and its behaviour when connections break. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";
import { AptoveError } from "../domain/errors.ts";
import { newId } from "../domain/ids.ts";
import { memoryEventLog } from "../live/memory/memory-event-log.ts";
import { memoryRecords } from "../records/memory/memory-records.ts";
import { testDoor, type TestDoor } from "../../testing/http-door.ts";
import { AptoveApiError, createClient, isTerminalEvent, type StreamedEvent } from "./client.ts";

function failed(code: string): (error: unknown) => boolean {
  return (error) => error instanceof AptoveApiError && error.code === code;
}

function problemOf(code: "shutting_down"): Response {
  const value = { type: "about:blank", title: "away", status: 503, code, retryable: true };
  return Response.json(value, { status: 503, headers: { "content-type": "application/problem+json" } });
}

/** A connection that breaks after a number of bytes of every stream. `breaks` is the way in which it does. */
function flaky(door: TestDoor, bytesMax: number, breaks: "error" | "end" = "error") {
  const opened: string[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    opened.push(`${request.method} ${new URL(request.url).pathname} ${request.headers.get("last-event-id") ?? "-"}`);
    const response = await door.door.fetch(request);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
    let left = bytesMax;
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        controller.enqueue(piece.subarray(0, left));
        left -= piece.length;
        if (left > 0) return;
        if (breaks === "error") controller.error(new TypeError("terminated"));
        else controller.terminate();
      },
    });
    return new Response(response.body?.pipeThrough(cut) ?? null, response);
  };
  return { fetch, opened };
}

test("[H2] every method returns the answer of its route", async (t) => {
  const door = await testDoor(t);
  const client = door.client();
  assert.equal((await client.me()).userId, door.admin.userId);
  assert.equal((await client.health()).status, "ready");
  const session = await client.sessions.create({ name: "made" });
  assert.deepEqual(await client.sessions.get(session.id), session);
  assert.equal((await client.sessions.update(session.id, { description: "d" })).description, "d");
  const answer = await client.execute({ instruction: "hello", sessionId: session.id });
  assert.equal(answer.text, "answer 1");
  assert.deepEqual(
    (await client.sessions.list({ limit: 1, archived: false })).sessions.map(({ id }) => id),
    [session.id],
  );
  const { turns } = await client.sessions.turns(session.id, { limit: 5 });
  assert.deepEqual(turns, [await client.turns.summary(answer.turnId)]);
  const turn = await client.turns.get(answer.turnId);
  assert.deepEqual(await client.sessions.lastTurn(session.id), turn);
  assert.equal(await client.turns.instruction(turn.id), "hello");
  assert.deepEqual(await client.turns.answer(turn.id), answer);
  assert.deepEqual((await client.turns.context(turn.id)).manifest, turn.manifest);
  assert.equal(
    Buffer.from(await client.turns.request(turn.id, 1)).toString(),
    door.provider.exchanges[0]?.request.body,
  );
  assert.ok((await client.turns.response(turn.id, 1)).length > 0);
  assert.deepEqual([await client.turns.interrupt(turn.id), await client.sessions.interrupt(session.id)], [null, null]);
  const { key, secret } = await client.keys.create({ name: "k" });
  assert.equal((await door.client({ key: secret }).me()).userId, door.admin.userId);
  assert.ok((await client.keys.list()).keys.some(({ id }) => id === key.id));
  await client.keys.revoke(key.id);
  await assert.rejects(door.client({ key: secret }).me(), failed("unauthenticated"));
});

test("[H2] a server that cannot run turns answers what fails, and a proxy without a server is an error", async (t) => {
  const log = memoryEventLog();
  log.append = () => Promise.reject(new Error("the log is full"));
  const client = (await testDoor(t, { log })).client();
  const failing = { status: "not_ready", records: "ok", blobs: "ok", log: "failed" };
  assert.partialDeepStrictEqual(await client.health(), failing);
  for (const type of ["text/html", "application/problem+json"]) {
    const fetch = async () => new Response("{}", { status: 503, headers: { "content-type": type } });
    await assert.rejects(createClient({ url: "http://proxy", fetch }).health(), { code: "answer_invalid" });
  }
});

test("[H2] [S5] [S6] [S8] [T6] [T7] [K4] [D1] [D2] every method of the tree returns the answer of its route", async (t) => {
  const door = await testDoor(t);
  const client = door.client();
  const one = await client.execute({ instruction: "one" });
  const two = await client.execute({ instruction: "two", sessionId: one.sessionId });
  const { sessions, turns } = client;
  const id = one.sessionId;
  const again = await client.execute({ rerun: { turnId: two.turnId } });
  const fork = await client.execute({ instruction: "fork", fork: { turnId: one.turnId } });
  const empty = await sessions.create({ forkOf: one.turnId, name: "Empty" });
  assert.deepEqual([empty.originTurnId, empty.name], [one.turnId, "Empty"]);
  const graph = await sessions.graph(id);
  assert.deepEqual(graph.turns[0], await turns.summary(again.turnId));
  assert.deepEqual(graph.forks.map((session) => session.id).toSorted(), [fork.sessionId, empty.id].toSorted());
  const move = { from: again.turnId, to: two.turnId };
  assert.equal((await sessions.moveHead(id, move)).headTurnId, two.turnId);
  await assert.rejects(sessions.moveHead(id, move), failed("head_moved"));
  const diff = await turns.diff(two.turnId, again.turnId);
  assert.deepEqual([diff.a.answer, diff.b.answer], [two.text, again.text]);
  assert.deepEqual(await sessions.verify(id), { sessionId: id, turnsChecked: 3, turnsUnsealed: 0, fault: null });
  const [hit] = await client.search("fork", { limit: 5 });
  assert.equal(hit?.session.id, fork.sessionId);
  assert.notEqual((await sessions.archive(id)).archivedAt, null);
  assert.equal((await sessions.unarchive(id)).archivedAt, null);
  await assert.rejects(sessions.steer(id, "x"), failed("turn_not_running"));
  await assert.rejects(turns.steer(two.turnId, "x"), failed("turn_not_running"));
  const removed = await sessions.remove(id);
  assert.deepEqual(await sessions.listRemoved(), [removed]);
  assert.equal((await sessions.restore(id)).deletedAt, null);
  await sessions.remove(id);
  assert.deepEqual((({ turnsPurged, turnsKept }) => [turnsPurged, turnsKept])(await sessions.purge(id)), [2, 1]);
  assert.deepEqual(await client.collectGarbage({ dryRun: true }), { keys: [], bytes: 0, isMost: false });
});

test("[V4] [T5] a running turn is steered by turn and by session, and by the next request", async (t) => {
  const held = Promise.withResolvers<void>();
  const door = await testDoor(t, {
    script: (_call, n) => (n === 1 ? [{ says: ["begun ", held.promise, "and done."] }] : "As you like."),
  });
  const client = door.client();
  const { sessionId, turnId } = await client.start({ instruction: "x" });
  assert.equal(await client.turns.steer(turnId, "one"), turnId);
  assert.equal(await client.sessions.steer(sessionId, "two"), turnId);
  const joined = await client.start({ instruction: "three", sessionId, ifBusy: "steer" });
  assert.equal(joined.turnId, turnId);
  held.resolve();
  const steered: string[] = [];
  for await (const { event } of client.events(turnId)) {
    if (event.type === "CUSTOM" && event.name === "aptove.steered") steered.push(event.value.text);
  }
  assert.deepEqual(steered, ["one", "two", "three"]);
  assert.equal((await client.turns.answer(turnId)).text, "begun and done.\n\nAs you like.");
});

test("[V1] execute passes on every event as it arrives, and the answer is the stored one", async (t) => {
  const held = Promise.withResolvers<void>();
  const door = await testDoor(t, { script: () => [{ says: ["one ", held.promise, "two"] }] });
  const seen: StreamedEvent[] = [];
  const answer = await door.client().execute(
    { instruction: "x" },
    {
      onEvent: (streamed) => {
        seen.push(streamed);
        if (streamed.event.type === "TEXT_MESSAGE_CONTENT") held.resolve();
      },
    },
  );
  assert.equal(answer.text, "one two");
  assert.deepEqual(seen.filter(({ event }) => isTerminalEvent(event)).length, 1);
  const replayed: StreamedEvent[] = [];
  for await (const streamed of door.client().events(answer.turnId)) replayed.push(streamed);
  assert.deepEqual(seen, replayed);
  const rest: StreamedEvent[] = [];
  for await (const streamed of door.client().events(answer.turnId, { after: seen[2]?.id ?? "" })) rest.push(streamed);
  assert.deepEqual(rest, seen.slice(3));
  for await (const streamed of door.client().events(answer.turnId, { after: seen.at(-1)?.id ?? "" }))
    assert.fail(streamed.id);
});

for (const breaks of ["error", "end"] as const) {
  test(`[V2] [T13] a stream that breaks by ${breaks} resumes after its last event, and nothing runs twice`, async (t) => {
    const door = await testDoor(t, { script: () => [{ thinks: "hm" }, { says: "a longer answer, with some words" }] });
    // Just more than the largest event, so that every connection brings at least one.
    const { fetch, opened } = flaky(door, 450, breaks);
    const seen: StreamedEvent[] = [];
    const answer = await door
      .client({ fetch })
      .execute({ instruction: "x" }, { onEvent: (streamed) => seen.push(streamed) });
    assert.equal(answer.text, "a longer answer, with some words");
    const whole: StreamedEvent[] = [];
    for await (const streamed of door.client().events(answer.turnId)) whole.push(streamed);
    assert.deepEqual(seen, whole);
    assert.ok(opened.length > 5);
    assert.equal(opened.filter((line) => line.startsWith("POST")).length, 1);
    assert.equal(door.provider.exchanges.length, 1);
  });
}

test("[T13] a request whose connection breaks before the first event is sent again, and runs once", async (t) => {
  const door = await testDoor(t);
  let tries = 0;
  const fetch = async (request: Request): Promise<Response> => {
    const response = await door.door.fetch(request);
    if (request.method !== "POST" || ++tries > 2) return response;
    await response.body?.cancel();
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });
  };
  const answer = await door.client({ fetch }).execute({ instruction: "x" });
  assert.equal(answer.text, "answer 1");
  assert.equal(door.provider.exchanges.length, 1);
});

test("[V2] a stream that stays broken is given up after the retries, and the turn is stored", async (t) => {
  const door = await testDoor(t);
  const { fetch, opened } = flaky(door, 1);
  await assert.rejects(door.client({ fetch, retries: 3 }).execute({ instruction: "x" }), failed("stream_cut"));
  assert.equal(opened.length, 4);
  assert.equal((await door.client().sessions.list()).sessions.length, 1);
});

test("[V2] [R2] a listener whose events were lost with their process still gets the end of the turn, once", async (t) => {
  const door = await testDoor(t);
  const client = door.client();
  const { turnId } = await client.execute({ instruction: "x" });
  const all: StreamedEvent[] = [];
  for await (const streamed of client.events(turnId)) all.push(streamed);
  const rest: StreamedEvent[] = [];
  for await (const streamed of client.events(turnId, { after: `${turnId}:${all.length + 3}` })) rest.push(streamed);
  assert.deepEqual(rest, all.slice(-1));
  // An id of another turn names no position in this one.
  const foreign = client.events(turnId, { after: `${newId()}:1` });
  await assert.rejects(Array.fromAsync(foreign), failed("event_id_unknown"));
});

test("[V2] a stream that breaks without an error is reported as such, whatever error came before", async (t) => {
  const door = await testDoor(t);
  const { fetch, opened } = flaky(door, 1, "end");
  const away = problemOf("shutting_down");
  const restarting = (request: Request) => (opened.length === 1 ? (opened.push("away"), away) : fetch(request));
  const client = door.client({ fetch: async (request) => restarting(request), retries: 2 });
  await assert.rejects(client.execute({ instruction: "x" }), failed("stream_cut"));
  assert.equal(opened[1], "away");
});

test("[V2] a proxy without a server behind it for a moment does not end a stream, and its page is no answer", async (t) => {
  const door = await testDoor(t);
  for (const status of [502, 503, 504]) {
    const { fetch, opened } = flaky(door, 450);
    const page = (): Response => new Response("<html>", { status, headers: { "retry-after": "0" } });
    const away = (request: Request) => (opened.length === 1 ? (opened.push("away"), page()) : fetch(request));
    const answer = await door.client({ fetch: async (request) => away(request) }).execute({ instruction: "x" });
    assert.equal(answer.kind, "answer");
    assert.equal(opened[1], "away");
  }
  const gone = door.client({ fetch: async () => new Response("<html>", { status: 500 }), retries: 1 });
  await assert.rejects(gone.execute({ instruction: "x" }), failed("answer_invalid"));
});

test("[V2] [H2] an answer that was streamed, and a turn that was started, survive a cut connection: the turn runs once", async (t) => {
  const door = await testDoor(t);
  const asked: string[] = [];
  const cut = (path: RegExp) => {
    let isCut = false;
    return async (request: Request): Promise<Response> => {
      asked.push(new URL(request.url).pathname);
      const response = await door.door.fetch(request);
      if (isCut || !path.test(request.url)) return response;
      isCut = true;
      await response.text();
      throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });
    };
  };
  const answer = await door.client({ fetch: cut(/\/answer$/) }).execute({ instruction: "x" });
  assert.equal(answer.text, "answer 1");
  assert.equal(asked.filter((path) => path.endsWith("/answer")).length, 2);
  const client = door.client({ fetch: cut(/\/execute$/) });
  const { turnId } = await client.start({ instruction: "y" });
  for await (const _streamed of client.events(turnId));
  assert.equal(door.provider.exchanges.length, 2);
  // The server refuses what it was asked, so it is not asked again.
  asked.length = 0;
  await assert.rejects(client.start({ instruction: "z", sessionId: newId() }), failed("not_found"));
  assert.equal(asked.length, 1);
});

test("[T11] a turn whose end cannot be stored is reported as such, after all of its text", async (t) => {
  const records = memoryRecords();
  const { finish: finishTurn } = records.turns;
  let isFull = true;
  records.turns.finish = (finish) =>
    isFull ? Promise.reject(new AptoveError("storage_full", "no room")) : finishTurn.call(records.turns, finish);
  const door = await testDoor(t, { records, script: () => [{ says: ["half ", "an ", "answer"] }] });
  let text = "";
  const onEvent = ({ event }: StreamedEvent): void => {
    if (event.type === "TEXT_MESSAGE_CONTENT") text += event.delta;
  };
  await assert.rejects(door.client().execute({ instruction: "x" }, { onEvent }), failed("storage_full"));
  assert.equal(text, "half an answer");
  isFull = false;
});

test("[V2] a stream that was never open is not a broken stream: the server could not be reached", async (t) => {
  const door = await testDoor(t);
  const fetch = async (): Promise<Response> => {
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("no way"), { code: "EHOSTUNREACH" }) });
  };
  await assert.rejects(door.client({ fetch, retries: 1 }).execute({ instruction: "x" }), failed("unreachable"));
});

test("[H3] a refusal is thrown unchanged, and not retried", async (t) => {
  const held = Promise.withResolvers<void>();
  const door = await testDoor(t, { script: () => [{ waits: held.promise }, { says: "x" }] });
  const client = door.client();
  const running = await client.start({ instruction: "x" });
  let tries = 0;
  const counting = door.client({ fetch: (request) => (tries++, door.door.fetch(request)) });
  await assert.rejects(counting.execute({ instruction: "y", sessionId: running.sessionId }), (error) => {
    assert.ok(error instanceof AptoveApiError);
    assert.deepEqual([error.code, error.status, error.retryable], ["session_busy", 409, true]);
    assert.equal(error.facts["turnId"], running.turnId);
    return true;
  });
  assert.equal(tries, 1);
  await assert.rejects(client.turns.answer(running.turnId), failed("turn_not_finished"));
  held.resolve();
  for await (const { event } of client.events(running.turnId))
    if (isTerminalEvent(event)) assert.equal(event.type, "RUN_FINISHED");
  await assert.rejects(client.sessions.get(newId()), failed("not_found"));
  await assert.rejects(client.sessions.get("../../api/me"), failed("not_found"));
});

test("[R5] aborting stops listening at once, and not the run", async (t) => {
  const held = Promise.withResolvers<void>();
  const door = await testDoor(t, { script: () => [{ says: ["begun", held.promise, " and done"] }] });
  const leaving = new AbortController();
  let turnId = "";
  const running = door.client().execute(
    { instruction: "x" },
    {
      signal: leaving.signal,
      onEvent: ({ event }) => {
        if (event.type === "RUN_STARTED") turnId = event.runId;
        if (event.type === "TEXT_MESSAGE_CONTENT") leaving.abort();
      },
    },
  );
  await assert.rejects(running, { name: "AbortError" });
  held.resolve();
  for await (const { event } of door.client().events(turnId)) void event;
  assert.equal((await door.client().turns.answer(turnId)).text, "begun and done");
  await assert.rejects(door.client().execute({ instruction: "x" }, { signal: AbortSignal.abort() }), {
    name: "AbortError",
  });
});

test("leaving the loop of a stream closes its connection", async (t) => {
  const door = await testDoor(t, { script: () => [{ waits: new Promise(() => undefined) }] });
  const { turnId } = await door.client().start({ instruction: "x" });
  let isCancelled = false;
  const fetch = async (request: Request): Promise<Response> => {
    const response = await door.door.fetch(request);
    const reader = response.body?.getReader() ?? assert.fail();
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => controller.enqueue((await reader.read()).value ?? new Uint8Array()),
      cancel: async () => {
        isCancelled = true;
        await reader.cancel();
      },
    });
    return new Response(body, response);
  };
  for await (const _streamed of door.client({ fetch }).events(turnId)) break;
  assert.equal(isCancelled, true);
});

test("no server, and a server that is not aptove, are different errors", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const unreachable = createClient({ url: `http://127.0.0.1:${port}`, key: "k" });
  await assert.rejects(unreachable.me(), (error) => failed("unreachable")(error) && /ECONNREFUSED/.test(String(error)));
  await assert.rejects(unreachable.execute({ instruction: "x" }), failed("unreachable"));
  const answers: [Response, string][] = [
    [new Response("<html>", { status: 502 }), "answer_invalid"],
    [new Response("<html>", { headers: { "content-type": "text/html" } }), "answer_invalid"],
    [new Response("{", { status: 500, headers: { "content-type": "application/problem+json" } }), "answer_invalid"],
  ];
  for (const [response, code] of answers) {
    const other = createClient({ url: "http://localhost", key: "k", fetch: async () => response });
    await assert.rejects(other.me(), failed(code));
  }
  const headers = { "content-type": "text/event-stream" };
  const garbled = createClient({
    url: "http://localhost",
    key: "k",
    fetch: async () => new Response("data: {\n\n", { headers }),
  });
  await assert.rejects(garbled.execute({ instruction: "x" }), failed("answer_invalid"));
});

test("the address may have a path, and parameters are encoded", async () => {
  const asked: string[] = [];
  const client = createClient({
    url: "https://example.org/aptove/",
    key: "k",
    fetch: async (request) => {
      asked.push(`${request.method} ${request.url} ${request.headers.get("authorization")}`);
      return Response.json({ keys: [] });
    },
  });
  await client.keys.list();
  await client.sessions.list({ repo: "a&b", limit: 2 });
  await client.sessions.get("a/b?c");
  assert.deepEqual(asked, [
    "GET https://example.org/aptove/api/keys Bearer k",
    "GET https://example.org/aptove/api/sessions?repo=a%26b&limit=2 Bearer k",
    "GET https://example.org/aptove/api/sessions/a%2Fb%3Fc Bearer k",
  ]);
});

test("[H1] a wrong address is refused at once, with the fix, and without a password", (t) => {
  const fix = /begins with http:\/\/ or https:\/\//;
  const wrong = ["", "127.0.0.1:4377", "localhost:4377", "/aptove", "ftp://example.org", "http://", undefined];
  for (const url of [...wrong, "http://h:1?a=1", "http://h:1/aptove#part"]) {
    const error = refusalOf(() => createClient({ url: url as string, key: "k" }));
    assert.equal(error.code, "request_invalid");
    assert.match(error.message, fix);
  }
  const secret = refusalOf(() => createClient({ url: "http://ada:password@example.org" }));
  assert.ok(!secret.message.includes("password@") && secret.message.includes("leave them out"), secret.message);
  for (const url of ["http://127.0.0.1:4377", "https://example.org/aptove/", "HTTP://[::1]:4377"])
    createClient({ url });
  // A page may name its own server by a relative address.
  const page = { location: { href: "https://example.org/page/" } };
  Object.assign(globalThis, page);
  t.after(() => Reflect.deleteProperty(globalThis, "location"));
  for (const url of ["", "/aptove", "aptove"]) createClient({ url });
});

test("[H1] a key that cannot be sent is refused at once and is not quoted, and white space around a key is ignored", async () => {
  for (const key of ["apt_1\napt_2", "apt_1 apt_2", "clé"]) {
    const error = refusalOf(() => createClient({ url: "http://127.0.0.1:4377", key }));
    assert.equal(error.code, "request_invalid");
    assert.ok(!error.message.includes(key), error.message);
  }
  const sent: (string | null)[] = [];
  const answer = (request: Request): Promise<Response> => {
    sent.push(request.headers.get("authorization"));
    return Promise.resolve(Response.json({ sessions: [] }));
  };
  for (const key of ["apt_1\n", " "])
    await createClient({ url: "http://127.0.0.1:4377", key, fetch: answer }).sessions.list();
  assert.deepEqual(sent, ["Bearer apt_1", null]);
});

function refusalOf(create: () => unknown): AptoveApiError {
  try {
    create();
  } catch (error) {
    assert.ok(error instanceof AptoveApiError, String(error));
    return error;
  }
  return assert.fail("nothing was thrown");
}

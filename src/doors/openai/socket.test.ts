/** Responses over a WebSocket (O1). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { WebSocket } from "ws";
import { testOpenAi, type OpenAiTest } from "../../../testing/openai-door.ts";
import type { TestDoorOptions } from "../../../testing/http-door.ts";
import { listen } from "../http/listen.ts";

interface Frame {
  type: string;
  status?: number;
  error?: { code: string; param: string | null };
  response?: { id: string; status: string; output: { content?: { text: string }[] }[] };
}

interface TestSocket extends Omit<OpenAiTest, "ask"> {
  socket: WebSocket;
  url: string;
  /** Sends a message, and returns its frames up to the last one. */
  ask(body: object | string): Promise<Frame[]>;
}

async function testSocket(t: TestContext, options: TestDoorOptions = {}, key?: string): Promise<TestSocket> {
  const tested = await testOpenAi(t, options);
  const server = await listen(tested.door, { host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  const headers = { authorization: `Bearer ${key ?? tested.admin.key}` };
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/v1/responses`, { headers });
  t.after(() => socket.terminate());
  const frames: Frame[] = [];
  const news = new EventTarget();
  socket.on("message", (data: Buffer) => {
    frames.push(JSON.parse(data.toString()) as Frame);
    news.dispatchEvent(new Event("frame"));
  });
  await once(socket, "open");
  let taken = 0;
  const ask = async (body: object | string): Promise<Frame[]> => {
    socket.send(typeof body === "string" ? body : JSON.stringify({ type: "response.create", ...body }));
    for (;;) {
      const end = frames.findIndex((frame, at) => at >= taken && isLast(frame));
      if (end !== -1) {
        const own = frames.slice(taken, end + 1);
        taken = end + 1;
        return own;
      }
      await once(news, "frame");
    }
  };
  return { ...tested, socket, ask, url: server.url };
}

function isLast({ type }: Frame): boolean {
  return ["error", "response.completed", "response.failed", "response.incomplete"].includes(type);
}

test("[O1] a response over a WebSocket has the events of a stream, and is stored like any other", async (t) => {
  const { ask, openai } = await testSocket(t, { script: () => "Hello" });
  const frames = await ask({ input: "hi", model: "scripted-1" });
  assert.deepEqual([frames[0]?.type, frames.at(-1)?.type], ["response.created", "response.completed"]);
  const stored = await openai.responses.retrieve(frames.at(-1)?.response?.id ?? "");
  assert.equal(stored.output_text, "Hello");
});

test("[O1] messages of one socket wait their turn, and one continues another", async (t) => {
  const { ask, socket, provider } = await testSocket(t, { remembers: false });
  socket.send(JSON.stringify({ type: "response.create", input: "one" }));
  const both = await Promise.all([ask({ input: "two" }), ask({ input: "three" })]);
  for (const frames of both) assert.equal(frames.filter(({ type }) => type === "response.created").length, 1);
  const id = both[0].at(-1)?.response?.id;
  const next = await ask({ input: "four", previous_response_id: id });
  assert.ok(next.length > 0);
  assert.ok(provider.exchanges.length >= 3);
});

test("[O1] faults are error events with OpenAI's code, and the socket goes on", async (t) => {
  const { ask } = await testSocket(t);
  const cases: [code: string, body: object | string][] = [
    ["invalid_json", "garbage"],
    ["invalid_json", "null"],
    ["invalid_value", JSON.stringify({ type: "session.update" })],
    ["unsupported_parameter", { input: "x", background: true }],
    ["unsupported_parameter", { input: "x", stream: true }],
    ["missing_required_parameter", {}],
    ["previous_response_not_found", { input: "x", previous_response_id: "resp_none" }],
  ];
  for (const [code, body] of cases) {
    const [frame] = await ask(body);
    assert.deepEqual([frame?.type, frame?.error?.code], ["error", code], JSON.stringify(frame));
    assert.equal(frame?.status, 400);
  }
  assert.equal((await ask({ input: "still there?" })).at(-1)?.type, "response.completed");
});

test("[O1] a client that closes its WebSocket stops the response, and what arrived stays", async (t) => {
  const { socket, engine, admin } = await testSocket(t, {
    script: () => [{ says: ["begun ", new Promise(() => undefined)] }],
  });
  socket.send(JSON.stringify({ type: "response.create", input: "long" }));
  await once(socket, "message");
  const { sessions } = await engine.sessions.list(admin, {});
  const running = await engine.turns.running(admin, sessions[0]?.id ?? "");
  assert.ok(running !== null);
  for await (const { event } of await engine.turns.events(admin, running.turn.id, { afterSeq: 0 })) {
    if (event.type === "text_delta") socket.terminate();
    if (event.type === "run_finished") assert.equal(event.stopReason, "interrupted");
  }
  const turn = await engine.turns.get(admin, running.turn.id);
  assert.equal(turn.status, "completed");
});

test("[O1] [R5] a WebSocket that the server closes leaves its response running", async (t) => {
  const held = Promise.withResolvers<void>();
  const { socket, mount, engine, admin } = await testSocket(t, {
    script: () => [{ says: ["begun ", held.promise, "done"] }],
  });
  socket.send(JSON.stringify({ type: "response.create", input: "long" }));
  await once(socket, "message");
  const { sessions } = await engine.sessions.list(admin, {});
  const running = await engine.turns.running(admin, sessions[0]?.id ?? "");
  assert.ok(running !== null);
  mount.close();
  await once(socket, "close");
  held.resolve();
  for await (const { event } of await engine.turns.events(admin, running.turn.id, { afterSeq: 0 })) {
    if (event.type === "run_finished") assert.equal(event.stopReason, "stop");
  }
});

test("[O1] [H4] a WebSocket needs a key, and there is none at other addresses", async (t) => {
  const { door } = await testOpenAi(t);
  const server = await listen(door, { host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  for (const [path, status] of [
    ["/v1/responses", 401],
    ["/v1/models", 401],
  ] as const) {
    const socket = new WebSocket(server.url.replace("http", "ws") + path);
    const [, response] = (await once(socket, "unexpected-response")) as [
      unknown,
      { statusCode: number; resume(): void },
    ];
    response.resume();
    assert.equal(response.statusCode, status);
    socket.on("error", () => undefined);
    socket.terminate();
  }
});

test("[O1] the official SDK's socket creates and continues responses", async (t) => {
  const { url, admin } = await testSocket(t, { script: (_call, n) => `answer ${n}` });
  const ws = new ResponsesWS(new OpenAI({ apiKey: admin.key, baseURL: `${url}/v1` }));
  t.after(() => ws.close());
  const ended: { id: string }[] = [];
  const waiting: ((response: { id: string }) => void)[] = [];
  ws.on("response.completed", ({ response }) => (waiting.shift() ?? ended.push.bind(ended))(response));
  ws.on("error", (error) => assert.fail(error));
  const ask = async (input: string, previous?: string): Promise<{ id: string }> => {
    const named = previous === undefined ? {} : { previous_response_id: previous };
    ws.send({ type: "response.create", model: "scripted-1", input, ...named });
    return ended.shift() ?? (await new Promise((resolve) => waiting.push(resolve)));
  };
  const first = await ask("one");
  const second = await ask("two", first.id);
  assert.notEqual(first.id, second.id);
});

test("[O3] a response that is not stored continues on its socket, and on no other", async (t) => {
  const { ask, url, admin, provider } = await testSocket(t);
  const first = await ask({ input: "one", store: false });
  const previous_response_id = first.at(-1)?.response?.id;
  const second = await ask({ input: "two", store: false, previous_response_id });
  assert.equal(second.at(-1)?.type, "response.completed");
  assert.equal(provider.exchanges[1]?.call.items.length, 3);
  const other = new WebSocket(`${url.replace("http", "ws")}/v1/responses`, {
    headers: { authorization: `Bearer ${admin.key}` },
  });
  t.after(() => other.terminate());
  await once(other, "open");
  other.send(JSON.stringify({ type: "response.create", input: "x", store: false, previous_response_id }));
  const [data] = (await once(other, "message")) as [Buffer];
  assert.equal((JSON.parse(data.toString()) as Frame).error?.code, "previous_response_not_found");
});

test("[O3] a continuation that fails takes the response that it named with it", async (t) => {
  const { ask } = await testSocket(t);
  const first = await ask({ input: "one", store: false });
  const previous_response_id = first.at(-1)?.response?.id;
  const wrong = [{ type: "function_call_output", call_id: "none", output: "x" }];
  assert.equal((await ask({ input: wrong, store: false, previous_response_id })).at(-1)?.type, "error");
  const [frame] = await ask({ input: "two", store: false, previous_response_id });
  assert.equal(frame?.error?.code, "previous_response_not_found");
});

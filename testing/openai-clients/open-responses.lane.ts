/**
 * The acceptance tests of Open Responses (openresponses.org), written again and named by their ids: its suite is in no package.
 * Each sends what the suite describes, and expects the same of the answer (O1, O2, O3). Its seventeenth test, `response-output-phase-schema`,
 * checks the suite's own schema and sends nothing.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { WebSocket } from "ws";
import { servedOpenAi } from "./server.ts";

type Json = Record<string, unknown>;

interface Answered {
  status: number;
  body: Json;
}

interface Suite {
  post(path: string, body: Json): Promise<Answered>;
  /** The events of a stream. */
  stream(body: Json): Promise<Json[]>;
  socket(): Promise<Socket>;
}

interface Socket {
  /** Creates a response. Returns its events up to the last one. */
  create(body: Json): Promise<Json[]>;
}

const model = "scripted-1";
const user = (content: unknown): Json => ({ type: "message", role: "user", content });

/** The fields that every response has, with the types that their values may have. */
const fields: Record<string, readonly string[]> = {
  ...{ id: ["string"], object: ["string"], created_at: ["number"], completed_at: ["number", "null"] },
  ...{ status: ["string"], incomplete_details: ["object", "null"], model: ["string"], output: ["array"] },
  ...{ previous_response_id: ["string", "null"], instructions: ["string", "null"], error: ["object", "null"] },
  ...{ tools: ["array"], tool_choice: ["string", "object"], truncation: ["string"], parallel_tool_calls: ["boolean"] },
  ...{ text: ["object"], top_p: ["number"], presence_penalty: ["number"], frequency_penalty: ["number"] },
  ...{ top_logprobs: ["number"], temperature: ["number"], reasoning: ["object", "null"], usage: ["object", "null"] },
  ...{ max_output_tokens: ["number", "null"], max_tool_calls: ["number", "null"], store: ["boolean"] },
  ...{ background: ["boolean"], service_tier: ["string"], metadata: ["object", "null"] },
  ...{ safety_identifier: ["string", "null"], prompt_cache_key: ["string", "null"] },
};

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function checkResponse(response: Json, { status = "completed" } = {}): Json {
  for (const [name, kinds] of Object.entries(fields)) {
    assert.ok(kinds.includes(kindOf(response[name])), `${name} is ${kindOf(response[name])}`);
  }
  assert.equal(response["object"], "response");
  assert.equal(response["status"], status, JSON.stringify(response["error"]));
  assert.ok((response["output"] as Json[]).length > 0);
  for (const item of response["output"] as Json[])
    assert.ok(typeof item["id"] === "string" && item["type"] !== undefined);
  return response;
}

/** Checks the events of one response, and returns the response at their end. */
function checkEvents(events: readonly Json[]): Json {
  assert.equal(events[0]?.["type"], "response.created");
  for (const [at, event] of events.entries()) assert.equal(event["sequence_number"], at);
  const last = events.at(-1);
  assert.equal(last?.["type"], "response.completed", JSON.stringify(last));
  return checkResponse(last["response"] as Json);
}

function idOf(response: Json): string {
  return String(response["id"]);
}

function codeOf(events: readonly Json[]): unknown {
  const [event] = events;
  assert.equal(event?.["type"], "error");
  return (event["error"] as Json)["code"];
}

async function openSuite(t: TestContext): Promise<Suite> {
  const { baseUrl, key } = await servedOpenAi(t);
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const send = async (path: string, body: Json): Promise<Response> =>
    await fetch(baseUrl + path, { method: "POST", headers, body: JSON.stringify({ model, ...body }) });
  return {
    post: async (path, body) => {
      const response = await send(path, body);
      return { status: response.status, body: (await response.json()) as Json };
    },
    stream: async (body) => {
      const text = await (await send("/responses", { ...body, stream: true })).text();
      const data = text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
      return data.filter((line) => line !== "[DONE]").map((line) => JSON.parse(line) as Json);
    },
    socket: async () => {
      const socket = new WebSocket(`${baseUrl.replace("http", "ws")}/responses`, { headers });
      t.after(() => socket.terminate());
      await once(socket, "open");
      const ends = ["error", "response.completed", "response.failed", "response.incomplete"];
      const create = async (body: Json): Promise<Json[]> => {
        const events: Json[] = [];
        const ended = Promise.withResolvers<void>();
        const take = (data: Buffer): void => {
          const event = JSON.parse(data.toString()) as Json;
          events.push(event);
          if (ends.includes(String(event["type"]))) ended.resolve();
        };
        socket.on("message", take);
        socket.send(JSON.stringify({ type: "response.create", model, ...body }));
        await ended.promise;
        socket.off("message", take);
        return events;
      };
      return { create };
    },
  };
}

const weather: Json = {
  type: "function",
  name: "get_weather",
  description: "Returns the weather of a place.",
  parameters: { type: "object", properties: { location: { type: "string" } }, required: ["location"] },
};
const redDot =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

const cases: Record<string, (suite: Suite) => Promise<void>> = {
  "basic-response": async ({ post }) => {
    const { status, body } = await post("/responses", { input: [user("Say hello.")] });
    assert.equal(status, 200);
    checkResponse(body);
  },
  "assistant-phase": async ({ post }) => {
    const phased = { type: "message", role: "assistant", phase: "commentary", content: "Let me look." };
    const { status, body } = await post("/responses", { input: [user("Look."), phased, user("And?")] });
    assert.equal(status, 200);
    checkResponse(body);
  },
  "streaming-response": async ({ stream }) => {
    const events = await stream({ input: [user("Count to five.")] });
    const last = checkEvents(events);
    const deltas = events.flatMap(({ type, delta }) => (type === "response.output_text.delta" ? [delta] : []));
    const [{ content }] = last["output"] as [{ content: [{ text: string }] }];
    assert.equal(deltas.join(""), content[0].text);
  },
  "system-prompt": async ({ post }) => {
    const system = { type: "message", role: "system", content: "You are a pirate." };
    const { status, body } = await post("/responses", { input: [system, user("Say hello.")] });
    assert.equal(status, 200);
    checkResponse(body);
  },
  "tool-calling": async ({ post }) => {
    const { body } = await post("/responses", { input: [user("What is the weather in Paris?")], tools: [weather] });
    const calls = (checkResponse(body)["output"] as Json[]).filter(({ type }) => type === "function_call");
    assert.partialDeepStrictEqual(calls, [{ name: "get_weather", status: "completed" }]);
    assert.ok(typeof calls[0]?.["call_id"] === "string" && typeof calls[0]["arguments"] === "string");
  },
  "image-input": async ({ post }) => {
    const content = [
      { type: "input_text", text: "What is this?" },
      { type: "input_image", image_url: redDot },
    ];
    const { status, body } = await post("/responses", { input: [user(content)] });
    assert.equal(status, 200, JSON.stringify(body));
    checkResponse(body);
  },
  "multi-turn": async ({ post }) => {
    const input = [user("I am Ada."), { type: "message", role: "assistant", content: "Hello Ada." }, user("Who am I?")];
    const { status, body } = await post("/responses", { input });
    assert.equal(status, 200);
    assert.match(JSON.stringify(checkResponse(body)["output"]), /Ada/);
  },
  "compact-response": async ({ post }) => {
    const { status, body } = await post("/responses/compact", { input: [user("I am Ada."), user("I like tea.")] });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body["object"], "response.compaction");
    assert.ok((body["output"] as Json[]).some(({ type }) => type === "compaction"));
    assert.equal(kindOf(body["usage"]), "object");
  },
  "compact-missing-model": async ({ post }) => {
    const { status } = await post("/responses/compact", { model: undefined, input: [user("x")] });
    assert.ok(status === 400 || status === 422, String(status));
  },
  "websocket-response": async ({ socket }) => {
    checkEvents(await (await socket()).create({ input: [user("Say hello.")] }));
  },
  "websocket-sequential-responses": async ({ socket }) => {
    const { create } = await socket();
    const ids = [checkEvents(await create({ input: "one" })), checkEvents(await create({ input: "two" }))].map(idOf);
    assert.notEqual(ids[0], ids[1]);
  },
  "websocket-continuation": async ({ socket }) => {
    const { create } = await socket();
    const first = checkEvents(await create({ input: "The word is tulip.", store: false }));
    const next = { input: "Which word?", store: false, previous_response_id: idOf(first) };
    const second = checkEvents(await create(next));
    assert.equal(second["previous_response_id"], idOf(first));
    assert.match(JSON.stringify(second["output"]), /tulip/);
  },
  "websocket-reconnect-store-false-recovery": async ({ socket }) => {
    const first = checkEvents(await (await socket()).create({ input: "one", store: false }));
    const { create } = await socket();
    const lost = await create({ input: "two", store: false, previous_response_id: idOf(first) });
    assert.equal(codeOf(lost), "previous_response_not_found");
    checkEvents(await create({ input: [user("one"), user("two")], store: false }));
  },
  "websocket-previous-response-not-found": async ({ socket }) => {
    const events = await (await socket()).create({ input: "x", previous_response_id: "resp_none" });
    assert.equal(codeOf(events), "previous_response_not_found");
  },
  "websocket-failed-continuation-evicts-cache": async ({ socket }) => {
    const { create } = await socket();
    const previous_response_id = idOf(checkEvents(await create({ input: "one", store: false })));
    const orphan = [{ type: "function_call_output", call_id: "call_none", output: "x" }];
    codeOf(await create({ input: orphan, store: false, previous_response_id }));
    const again = await create({ input: "two", store: false, previous_response_id });
    assert.equal(codeOf(again), "previous_response_not_found");
  },
  "websocket-compact-new-chain": async ({ post, socket }) => {
    const { body } = await post("/responses/compact", { input: [user("The word is tulip."), user("Remember it.")] });
    const { create } = await socket();
    const first = checkEvents(await create({ input: [...(body["output"] as Json[]), user("Which word?")] }));
    assert.equal(first["previous_response_id"], null);
    checkEvents(await create({ input: "And now?", previous_response_id: idOf(first) }));
  },
};

for (const [id, run] of Object.entries(cases)) {
  test(`[O1] [O2] [O3] Open Responses: ${id}`, async (t) => {
    await run(await openSuite(t));
  });
}

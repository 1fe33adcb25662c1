/** The fake refuses what the real endpoint refuses, and streams as it does. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { ResponseCreateParams } from "openai/resources/responses/responses";
import { closedAfter, post, type PostedAnswer } from "../fake-server/posted.ts";
import { type FakeOpenAI, startFakeOpenai } from "./fake-openai.ts";
import { rateLimited } from "./replies.ts";

const apiKey = "sk-fake-0123456789";

async function started(context: TestContext): Promise<FakeOpenAI> {
  return closedAfter(context, await startFakeOpenai({ apiKey, tag: "t" }));
}

async function send(fake: FakeOpenAI, body: unknown, path = "/responses"): Promise<PostedAnswer> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  return await post(`${fake.url}${path}`, body, headers);
}

interface Fault {
  status: number;
  message: string;
  type: string;
  param: string | null;
  code: string | null;
}

function faultOf({ status, text }: PostedAnswer): Fault {
  const { error } = JSON.parse(text) as { error: Omit<Fault, "status"> };
  assert.deepEqual(Object.keys(error), ["message", "type", "param", "code"]);
  return { status, ...error };
}

async function refused(fake: FakeOpenAI, body: unknown): Promise<Fault> {
  const answer = await send(fake, body);
  assert.notEqual(answer.status, 200, `it takes ${JSON.stringify(body)}`);
  return faultOf(answer);
}

/** Sends a body that must be accepted. Returns the id of the response. */
async function accepted(fake: FakeOpenAI, body: unknown): Promise<string> {
  const answer = await send(fake, body);
  assert.equal(answer.status, 200, answer.text);
  return fake.requests.at(-1)?.responseId ?? "";
}

const tool = { type: "function", name: "ddr_document", parameters: { type: "object" }, strict: false } as const;
const user = (text: string) => ({ role: "user", content: [{ type: "input_text", text }] }) as const;
const call = (callId: string) =>
  ({ type: "function_call", call_id: callId, name: "ddr_document", arguments: "{}" }) as const;

/** The envelope as in the document of the origin system. */
const documentBody = {
  model: "gpt-5.1",
  input: [
    { role: "system", content: [{ type: "text", text: "boot prompt" }] },
    { role: "user", content: [{ type: "text", text: "[MODE: x]\n\n[INSTRUCTION]\ny" }] },
  ],
  tools: [tool],
  tool_choice: { type: "tool", name: "ddr_document" },
};

test("[E1] [E4] the envelope of the origin document is refused for its three faults", async (context) => {
  const fake = await started(context);
  const parts = await refused(fake, { ...documentBody, tool_choice: "auto" });
  assert.deepEqual([parts.status, parts.param, parts.code], [400, "input[0].content[0].type", "invalid_value"]);
  assert.match(parts.message, /^Invalid value: 'text'\. Supported values are: 'input_text', /);
  const input = [user("hello")];
  const choice = await refused(fake, { ...documentBody, input });
  assert.deepEqual([choice.param, choice.code], ["tool_choice.type", "invalid_value"]);
  const first = await accepted(fake, { model: "gpt-5.1", input, tools: [tool] });
  const withoutTools = { model: "gpt-5.1", input, previous_response_id: first };
  const missing = await refused(fake, {
    ...withoutTools,
    tool_choice: { type: "function", name: "ddr_document" },
  });
  assert.equal(missing.message, "Tool choice 'ddr_document' not found in 'tools' parameter.");
  assert.deepEqual([missing.param, missing.code], ["tool_choice", null]);
});

test("[E1] the corrected envelope is accepted, and its continuation sees all of it", async (context) => {
  const fake = await started(context);
  const system = { role: "system", content: [{ type: "input_text", text: "boot prompt" }] };
  const tools = [tool];
  const choice = { type: "function", name: "ddr_document" };
  const id = await accepted(fake, { model: "gpt-5.1", input: [system, user("one")], tools, tool_choice: choice });
  await accepted(fake, { model: "gpt-5.1", input: [user("two")], tools, previous_response_id: id });
  const texts = fake.requests[1]?.assembled?.map((item) => JSON.stringify(item));
  assert.equal(texts?.length, 4);
  assert.match(texts[2] ?? "", /"assistant".*says: one/);
  assert.deepEqual(fake.requests[1]?.body?.input, [user("two")]);
});

const refusals: { name: string; body: Record<string, unknown>; param: string | null; code: string | null }[] = [
  { name: "no model", body: { model: undefined }, param: "model", code: "missing_required_parameter" },
  { name: "an unknown field", body: { tool_chioce: "auto" }, param: "tool_chioce", code: "unknown_parameter" },
  {
    name: "an unknown field in a message",
    body: { input: [{ ...user("a"), name: "bob" }] },
    param: "input[0].name",
    code: "unknown_parameter",
  },
  {
    name: "a tool in the form of chat completions",
    body: { tools: [{ type: "function", function: { name: "f", parameters: {} } }] },
    param: "tools[0].name",
    code: "missing_required_parameter",
  },
  {
    name: "a tool without strict",
    body: { tools: [{ type: "function", name: "f", parameters: {} }] },
    param: "tools[0].strict",
    code: "missing_required_parameter",
  },
  {
    name: "a tool without parameters",
    body: { tools: [{ type: "function", name: "f", strict: false }] },
    param: "tools[0].parameters",
    code: "missing_required_parameter",
  },
  {
    name: "a tool name with a space",
    body: { tools: [{ ...tool, name: "a b" }] },
    param: "tools[0].name",
    code: "invalid_value",
  },
  {
    name: "a strict tool with an open schema",
    body: { tools: [{ ...tool, strict: true }] },
    param: "tools[0].parameters",
    code: "invalid_function_parameters",
  },
  {
    name: "output_text in a user message",
    body: { input: [{ role: "user", content: [{ type: "output_text", text: "a" }] }] },
    param: "input[0].content[0].type",
    code: "invalid_value",
  },
  {
    name: "input_text in an assistant message",
    body: { input: [{ role: "assistant", content: [{ type: "input_text", text: "a" }] }] },
    param: "input[0].content[0].type",
    code: "invalid_value",
  },
  {
    name: "too few tokens",
    body: { max_output_tokens: 15 },
    param: "max_output_tokens",
    code: "integer_below_min_value",
  },
  { name: "too much heat", body: { temperature: 2.1 }, param: "temperature", code: "decimal_above_max_value" },
  { name: "a wrong type", body: { store: "yes" }, param: "store", code: "invalid_type" },
  {
    name: "an unknown effort",
    body: { reasoning: { effort: "huge" } },
    param: "reasoning.effort",
    code: "invalid_value",
  },
  {
    name: "an unknown role",
    body: { input: [{ ...user("a"), role: "tool" }] },
    param: "input[0].role",
    code: "invalid_value",
  },
  { name: "an unknown choice", body: { tool_choice: "any" }, param: "tool_choice", code: "invalid_value" },
  {
    name: "allowed tools that were not sent",
    body: {
      tools: [tool],
      tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "other" }] },
    },
    param: "tool_choice",
    code: null,
  },
  {
    name: "a previous response and a conversation",
    body: { previous_response_id: "resp_1", conversation: "conv_1" },
    param: null,
    code: "mutually_exclusive_parameters",
  },
  {
    name: "an unknown previous response",
    body: { previous_response_id: "resp_1" },
    param: "previous_response_id",
    code: "previous_response_not_found",
  },
  {
    name: "ciphertext of another model",
    body: { input: [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAA" }, user("a")] },
    param: "input[0].encrypted_content",
    code: "invalid_encrypted_content",
  },
];

for (const { name, body, param, code } of refusals) {
  test(`the fake refuses ${name}`, async (context) => {
    const fake = await started(context);
    const fault = await refused(fake, { model: "m", input: [user("a")], ...body });
    assert.deepEqual([fault.status, fault.type, fault.param, fault.code], [400, "invalid_request_error", param, code]);
  });
}

test("[T8] a call needs its output and an output its call, over the whole chain", async (context) => {
  const fake = await started(context);
  const shared = { model: "m", tools: [tool] };
  const open = await refused(fake, { ...shared, input: [user("a"), call("call_1"), user("b")] });
  assert.equal(open.message, "No tool output found for function call call_1.");
  const output = { type: "function_call_output", call_id: "call_t000002", output: "4" };
  const orphan = await refused(fake, { ...shared, input: [output] });
  assert.equal(orphan.message, "No tool call found for function call output with call_id call_t000002.");
  fake.next({ output: [{ type: "function_call", name: "ddr_document", arguments: "{}", callId: "call_t000002" }] });
  const id = await accepted(fake, { ...shared, input: [user("a")] });
  const chained = { ...shared, previous_response_id: id };
  assert.match((await refused(fake, { ...chained, input: [user("b")] })).message, /No tool output found/);
  await accepted(fake, { ...chained, input: [output, user("b")] });
});

test("[C3] it forgets on demand, with each of the three errors, and does not remember what was not stored", async (context) => {
  const fake = await started(context);
  const first = { model: "m", input: "one" };
  const unstored = await accepted(fake, { ...first, store: false });
  const kept = await accepted(fake, first);
  const next = (id: string) => ({ model: "m", input: "two", previous_response_id: id });
  assert.equal((await refused(fake, next(unstored))).code, "previous_response_not_found");
  await accepted(fake, next(kept));
  fake.forget([kept]);
  const forms: [typeof fake.forgottenForm, number, string | null, string | null][] = [
    ["code", 400, "previous_response_id", "previous_response_not_found"],
    ["not_found", 404, "previous_response_id", "previous_response_not_found"],
    ["terse", 400, null, "invalid_request_error"],
  ];
  for (const [form, status, param, code] of forms) {
    fake.forgottenForm = form;
    const fault = await refused(fake, next(kept));
    assert.deepEqual([fault.status, fault.param, fault.code], [status, param, code]);
  }
});

test("item references and reasoning without ciphertext live as long as their response", async (context) => {
  const fake = await started(context);
  fake.next({
    output: [
      { type: "reasoning", summary: ["hm"] },
      { type: "message", text: "a" },
    ],
  });
  await accepted(fake, { model: "m", input: "one" });
  const answered = { role: "assistant", content: "a" };
  const reference = { model: "m", input: [{ type: "item_reference", id: "rs_t000002" }, user("b")] };
  await accepted(fake, reference);
  const bare = { model: "m", input: [{ type: "reasoning", id: "rs_t000002", summary: [] }, answered, user("b")] };
  await accepted(fake, bare);
  fake.forget("all");
  for (const body of [reference, bare]) {
    const fault = await refused(fake, body);
    assert.deepEqual([fault.status, fault.param, fault.code], [404, "input", null]);
    assert.match((await refused(fake, { ...body, store: false })).message, /Items are not persisted when `store`/);
  }
});

test("reasoning with nothing after it is refused, as by the real endpoint", async (context) => {
  const fake = await started(context);
  fake.next({
    output: [
      { type: "reasoning", summary: ["hm"] },
      { type: "message", text: "a" },
    ],
  });
  await accepted(fake, { model: "m", input: "one" });
  const dangling = { model: "m", input: [{ type: "reasoning", id: "rs_t000002", summary: [] }, user("b")] };
  assert.match((await refused(fake, dangling)).message, /provided without its required following item/);
});

test("the right key is required, and the error shows only the ends of a wrong key", async (context) => {
  const fake = await started(context);
  const ask = async (headers: Record<string, string>): Promise<Fault> => {
    const response = await fetch(`${fake.url}/responses`, { method: "POST", body: "{}", headers });
    return faultOf({ status: response.status, headers: response.headers, text: await response.text() });
  };
  assert.equal((await ask({})).status, 401);
  const wrong = await ask({ authorization: "Bearer sk-wrong-key-9876" });
  assert.deepEqual([wrong.status, wrong.code], [401, "invalid_api_key"]);
  assert.equal(wrong.message, "Incorrect API key provided: sk-wr***9876.");
});

test("invalid JSON and unknown routes are refused", async (context) => {
  const fake = await started(context);
  assert.match((await refused(fake, "{")).message, /could not parse the JSON body/);
  assert.equal((await send(fake, {}, "/chat/completions")).status, 404);
});

interface StreamEvent {
  type: string;
  sequence_number: number;
}

async function streamed(fake: FakeOpenAI, more: Partial<ResponseCreateParams> = {}): Promise<StreamEvent[]> {
  const { text, headers } = await send(fake, { model: "m", input: "hello there", stream: true, ...more });
  assert.match(headers.get("content-type") ?? "", /^text\/event-stream/);
  return text
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) => {
      const [name, data] = block.split("\n");
      const event = JSON.parse((data ?? "").replace(/^data: /, "")) as StreamEvent;
      assert.equal(name, `event: ${event.type}`);
      return event;
    });
}

test("a stream has the real endpoint's events in its order, numbered from 0", async (context) => {
  const fake = await started(context);
  fake.next({
    output: [
      { type: "reasoning", summary: ["first thought", "second"] },
      { type: "message", text: "one two", phase: "final_answer" },
      { type: "function_call", name: "f", arguments: '{"a": 1}' },
    ],
  });
  const events = await streamed(fake);
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, index) => index),
  );
  assert.deepEqual(
    events.map(({ type }) => type.replace(/^response\./, "")),
    [
      "created in_progress output_item.added",
      "reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.delta",
      "reasoning_summary_text.done reasoning_summary_part.done",
      "reasoning_summary_part.added reasoning_summary_text.delta",
      "reasoning_summary_text.done reasoning_summary_part.done output_item.done",
      "output_item.added content_part.added output_text.delta output_text.delta output_text.done",
      "content_part.done output_item.done output_item.added",
      "function_call_arguments.delta function_call_arguments.delta function_call_arguments.done",
      "output_item.done completed",
    ].flatMap((line) => line.split(" ")),
  );
});

test("a stream can be cut after any number of events, and ends as incomplete or failed on demand", async (context) => {
  const fake = await started(context);
  const output = [{ type: "message" as const, text: "one two" }];
  fake.next({ output, cut: { afterEvents: 4, how: "end" } });
  assert.equal((await streamed(fake)).length, 4);
  fake.next({ output, cut: { afterEvents: 4, how: "reset" } });
  await assert.rejects(streamed(fake));
  const endings = [
    { status: "incomplete", reason: "max_output_tokens" },
    { status: "failed", code: "server_error", message: "oh" },
    { status: "error", code: "server_error", message: "oh" },
  ] as const;
  const last: string[] = [];
  for (const ending of endings) {
    fake.next({ output, ending });
    last.push((await streamed(fake)).at(-1)?.type ?? "");
  }
  assert.deepEqual(last, ["response.incomplete", "response.failed", "error"]);
});

test("replies come in turn, then the script's; raw bytes are recorded", async (context) => {
  const fake = await started(context);
  fake.next(rateLimited("7"), "from the queue");
  fake.answer((assembled) => `from the script: ${assembled.length}`);
  const body = '{ "model":"m",  "input":"\\u00e9" }';
  const limited = await send(fake, body);
  assert.deepEqual([limited.status, limited.headers.get("retry-after")], [429, "7"]);
  assert.match((await send(fake, body)).text, /from the queue/);
  assert.match((await send(fake, body)).text, /from the script: 1/);
  assert.equal((await fake.request(3)).raw.toString(), body);
  assert.equal(await (await fake.request(1)).ended, "sent");
});

test("embeddings are equal for equal texts and near for similar ones, in both encodings", async (context) => {
  const fake = await started(context);
  const input = ["move the head", "the head moves", "bake a cake"];
  const ask = async (format: string): Promise<unknown[]> => {
    const body = { model: "e", input, dimensions: 256, encoding_format: format };
    const { status, text } = await send(fake, body, "/embeddings");
    assert.equal(status, 200, text);
    const { data } = JSON.parse(text) as { data: { embedding: unknown; index: number }[] };
    assert.deepEqual(
      data.map(({ index }) => index),
      [0, 1, 2],
    );
    return data.map(({ embedding }) => embedding);
  };
  const floats = (await ask("float")) as number[][];
  const dot = (a: number, b: number): number =>
    (floats[a] ?? []).reduce((sum, value, index) => sum + value * (floats[b]?.[index] ?? 0), 0);
  assert.ok(Math.abs(dot(0, 0) - 1) < 1e-5 && dot(0, 1) > dot(0, 2));
  const [bytes] = (await ask("base64")) as string[];
  const buffer = Buffer.from(bytes ?? "", "base64");
  const decoded = Array.from({ length: 256 }, (_, index) => buffer.readFloatLE(index * 4));
  assert.deepEqual(decoded, floats[0]);
  for (const bad of [{ model: "e" }, { model: "e", input: [""] }, { model: "e", input: "a", extra: 1 }]) {
    assert.equal((await send(fake, bad, "/embeddings")).status, 400);
  }
});

/** The fake refuses what the real endpoint refuses, and streams as it does. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { closedAfter, post, type PostedAnswer } from "../fake-server/posted.ts";
import { type FakeAnthropic, startFakeAnthropic } from "./fake-anthropic.ts";
import { rateLimited } from "./replies.ts";

const apiKey = "sk-ant-fake-0123456789";

async function started(context: TestContext): Promise<FakeAnthropic> {
  return closedAfter(context, await startFakeAnthropic({ apiKey, tag: "t" }));
}

const version = { "anthropic-version": "2026-10-21" };

async function send(fake: FakeAnthropic, body: unknown, headers: Record<string, string> = {}): Promise<PostedAnswer> {
  const usual = { "x-api-key": apiKey, ...version, "content-type": "application/json" };
  return await post(`${fake.url}/v1/messages`, body, { ...usual, ...headers });
}

/** Returns the status and the text of a refusal. */
async function refused(fake: FakeAnthropic, body: unknown, headers?: Record<string, string>): Promise<string> {
  const { status, text } = await send(fake, body, headers);
  assert.notEqual(status, 200, `it takes ${JSON.stringify(body)}`);
  const { type, error } = JSON.parse(text) as { type: string; error: { type: string; message: string } };
  assert.equal(type, "error");
  return `${status} ${error.type} ${error.message}`;
}

async function accepted(fake: FakeAnthropic, body: unknown, headers?: Record<string, string>): Promise<PostedAnswer> {
  const answer = await send(fake, body, headers);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

const user = (content: unknown) => ({ role: "user", content });
const assistant = (...content: unknown[]) => ({ role: "assistant", content });
const text = (words: string) => ({ type: "text", text: words });
const use = (id: string, more: object = {}) => ({ type: "tool_use", id, name: "look", input: {}, ...more });
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "x" });
const tools = [{ name: "look", input_schema: { type: "object" } }];
const plain = { model: "claude-test", max_tokens: 100, messages: [user("hello")] };
const withTools = (...messages: unknown[]) => ({ ...plain, tools, messages });

test("the smallest request is accepted, with the key in either header", async (context) => {
  const fake = await started(context);
  const { text: answer } = await accepted(fake, plain);
  assert.deepEqual((JSON.parse(answer) as { content: unknown }).content, [
    { type: "text", text: "Block 1 of this conversation says: hello", citations: null },
  ]);
  const bearer = await fetch(`${fake.url}/v1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, ...version },
    body: JSON.stringify(plain),
  });
  assert.equal(bearer.status, 200);
});

test("the key, the version and the path are checked first", async (context) => {
  const fake = await started(context);
  assert.equal(await refused(fake, plain, { "x-api-key": "sk-other" }), "401 authentication_error invalid x-api-key");
  const withoutKey = await fetch(`${fake.url}/v1/messages`, { method: "POST", body: "{}" });
  assert.match(await withoutKey.text(), /x-api-key header is required/);
  const headers = { "x-api-key": apiKey };
  const unversioned = await fetch(`${fake.url}/v1/messages`, { method: "POST", headers, body: JSON.stringify(plain) });
  assert.match(await unversioned.text(), /anthropic-version: header is required/);
  assert.match(await refused(fake, plain, { "anthropic-version": "2024-01-01" }), /is not a valid version/);
  assert.equal((await fetch(`${fake.url}/v1/responses`, { method: "POST", headers, body: "{}" })).status, 404);
});

const fieldFaults: [body: object, words: string][] = [
  [{ ...plain, max_tokens: undefined }, "max_tokens: Field required"],
  [{ ...plain, max_tokens: "100" }, "max_tokens: Input should be a valid integer"],
  [{ ...plain, temperature: 1 }, "temperature: Extra inputs are not permitted"],
  [{ ...plain, messages: undefined }, "messages: Field required"],
  [{ ...plain, messages: [{ role: "tool", content: "x" }] }, "messages.0.role: Input should be 'user' or 'assistant'"],
  [
    { ...plain, messages: [user([{ type: "input_text", text: "a" }])] },
    "messages.0.content.0: Input tag 'input_text' found",
  ],
  [
    { ...plain, messages: [user([{ ...text("a"), id: "x" }])] },
    "messages.0.content.0.text.id: Extra inputs are not permitted",
  ],
  [
    { ...plain, tools: [{ name: "a.b", input_schema: { type: "object" } }] },
    "tools.0.custom.name: String should match pattern",
  ],
  [{ ...plain, tools: [{ name: "a", input_schema: {} }] }, "tools.0.custom.input_schema.type: Field required"],
  [{ ...plain, tools: [...tools, ...tools] }, "tools: Tool names must be unique."],
  [{ ...plain, tool_choice: { type: "auto" } }, "tool_choice: tool_choice may only be specified while providing tools"],
  [{ ...plain, tools, tool_choice: { type: "tool", name: "gone" } }, "Tool 'gone' not found in provided tools"],
  [{ ...plain, tools, tool_choice: { type: "function", name: "look" } }, "tool_choice: Input tag 'function' found"],
];

test("[E4] [E5] wrong fields are refused with their path, as by the real endpoint", async (context) => {
  const fake = await started(context);
  for (const [body, words] of fieldFaults) {
    const answered = await refused(fake, body);
    assert.ok(answered.startsWith(`400 invalid_request_error ${words}`), answered);
  }
  assert.match(await refused(fake, '{"model":'), /The request body is not valid JSON/);
  assert.match(await refused(fake, '{"model":"\\ud83d"}'), /no low surrogate/);
});

const orderFaults: [body: object, words: RegExp][] = [
  [withTools(), /at least one message is required/],
  [withTools(assistant(text("a")), user("b")), /first message must use the "user" role/],
  [withTools(user("")), /text content blocks must be non-empty/],
  [withTools(user([text(" \n")])), /text content blocks must contain non-whitespace text/],
  [{ ...plain, system: " " }, /system: text content blocks must contain non-whitespace text/],
  [withTools(user([])), /messages\.0: all messages must have non-empty content/],
  [withTools(user([use("a")])), /`tool_use` blocks can only be in `assistant` messages/],
  [withTools(user("a"), assistant(text("a"), result("x")), user("b")), /can only be in `user` messages/],
  [withTools(user("a"), assistant(use("a.b"))), /tool_use\.id: String should match pattern/],
  [withTools(user("a"), assistant(use("a", { input: "{}" }))), /tool_use\.input: Input should be a valid dictionary/],
  [withTools(user("a"), assistant(use("a"), use("b")), user([result("a")])), /ids were found without .*: b\. Each/],
  [withTools(user("a"), assistant(use("a")), user([text("well"), result("a")])), /immediately after: a\./],
  [withTools(user("a"), assistant(use("a"))), /immediately after: a\./],
  [withTools(user([result("a")])), /messages\.0\.content\.0: unexpected `tool_use_id` found .*: a\./],
  [withTools(user("a"), assistant(use("a")), user([result("a"), result("a")])), /messages\.2\.content\.1: unexpected/],
  [
    withTools(user("a"), assistant(use("a")), user([result("a")]), assistant(use("a")), user([result("a")])),
    /`tool_use` ids must be unique/,
  ],
  [{ ...withTools(user("a"), assistant(use("a")), user([result("a")])), tools: undefined }, /must define tools/],
  [withTools(user("a"), assistant(text("so "))), /final assistant content cannot end with trailing whitespace/],
  [
    { ...withTools(user("a"), assistant(text("so"))), model: "claude-opus-5" },
    /does not support assistant message prefill/,
  ],
  [
    {
      ...plain,
      cache_control: { type: "ephemeral" },
      messages: [user(Array.from({ length: 4 }, () => ({ ...text("a"), cache_control: { type: "ephemeral" } })))],
    },
    /A maximum of 4 blocks with cache_control may be provided\. Found 5\./,
  ],
];

test("[T8] the order of messages, calls and results is the real endpoint's", async (context) => {
  const fake = await started(context);
  for (const [body, words] of orderFaults) assert.match(await refused(fake, body), words);
  await accepted(
    fake,
    withTools(user("a"), user("b"), assistant(text("c")), assistant(use("d")), user([result("d"), text("e")])),
  );
});

test("thinking, effort and forced tools are accepted if the model supports them", async (context) => {
  const fake = await started(context);
  const forced = { tools, tool_choice: { type: "tool", name: "look" } };
  const enabled = { type: "enabled", budget_tokens: 2_000 };
  const binding = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
  const cases: [body: object, words: RegExp][] = [
    [
      { ...plain, model: "claude-opus-5-5", thinking: { type: "disabled" } },
      /"thinking\.type\.disabled" is not supported/,
    ],
    [
      { ...plain, model: "claude-opus-5", thinking: enabled, max_tokens: 9_000 },
      /"thinking\.type\.enabled" is not supported/,
    ],
    [
      { ...plain, model: "claude-haiku-4-5", thinking: { type: "adaptive" } },
      /"thinking\.type\.adaptive" is not supported/,
    ],
    [
      { ...plain, model: "claude-haiku-4-5", output_config: { effort: "low" } },
      /does not support the effort parameter/,
    ],
    [{ ...plain, thinking: enabled }, /`max_tokens` must be greater than `thinking\.budget_tokens`/],
    [
      { ...plain, thinking: { ...enabled, budget_tokens: 1_000 } },
      /budget_tokens: Input should be greater than or equal to 1024/,
    ],
    [{ ...plain, ...forced, model: "claude-opus-5-5" }, /type "tool" and "any" are not supported for this model/],
    [{ ...plain, ...forced, model: "claude-opus-5" }, /Thinking may not be enabled when tool_choice forces tool use/],
    [{ ...plain, thinking: binding }, /requires the `thinking-binding-controls-2026-08-01` value/],
    [
      { ...withTools(user("a"), assistant(use("a")), user([result("a")])), thinking: enabled, max_tokens: 9_000 },
      /Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
    ],
  ];
  for (const [body, words] of cases) assert.match(await refused(fake, body), words);
  await accepted(fake, { ...plain, ...forced, model: "claude-opus-5", thinking: { type: "disabled" } });
});

const bound = { model: "claude-opus-5-5", max_tokens: 100, system: "be brief" };
const beta = { "anthropic-beta": "thinking-binding-controls-2026-08-01" };

async function thinkingFrom(fake: FakeAnthropic): Promise<unknown[]> {
  fake.next({
    output: [
      { type: "thinking", text: "hm" },
      { type: "text", text: "so" },
    ],
  });
  const { text: answer } = await accepted(fake, { ...bound, messages: [user("a")] });
  const [thinking, answered] = (JSON.parse(answer) as { content: { text?: string }[] }).content;
  return [thinking, text(answered?.text ?? "")];
}

test("[C5] thinking must come back unchanged and in its own conversation, or not at all", async (context) => {
  const fake = await started(context);
  const [thinking, answered] = await thinkingFrom(fake);
  const goOn = (more: object, ...content: unknown[]) => ({
    ...bound,
    messages: [user("a"), assistant(...content), user("b")],
    ...more,
  });
  await accepted(fake, goOn({}, thinking, answered));
  await accepted(fake, goOn({ output_config: { effort: "high" } }, thinking, answered));
  const changed = { ...(thinking as object), thinking: "hm!" };
  assert.match(
    await refused(fake, goOn({}, changed, answered)),
    /messages\.1\.content\.0: Invalid `signature` in `thinking` block$/,
  );
  const elsewhere = /bound to a different conversation\. Remove the block, or set `thinking\.block_binding/;
  assert.match(await refused(fake, goOn({ system: "be long" }, thinking, answered)), elsewhere);
  assert.match(await refused(fake, goOn({ tools }, thinking, answered)), elsewhere);
  assert.match(
    await refused(fake, { ...bound, messages: [user("z"), assistant(thinking, answered), user("b")] }),
    elsewhere,
  );
  assert.match(await refused(fake, goOn({}, answered, thinking)), /cannot be `thinking`/);
  const dropping = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
  const answer = await accepted(fake, goOn({ system: "be long", thinking: dropping }, thinking, answered), beta);
  assert.deepEqual((JSON.parse(answer.text) as { input_transformations: unknown }).input_transformations, [
    { type: "thinking_dropped", path: "messages.1.content.0", reason: "prefix_binding_mismatch" },
  ]);
  await accepted(fake, goOn({ model: "claude-sonnet-5-5" }, thinking, answered));
  assert.equal(fake.requests.at(-1)?.seen?.dropped[0]?.reason, "model_binding_mismatch");
});

test("a stream has the real endpoint's events in its order, each named by its type", async (context) => {
  const fake = await started(context);
  fake.next({
    output: [
      { type: "text", text: "one two" },
      { type: "tool_use", name: "look", input: '{"a":1}' },
    ],
  });
  const { headers, text: stream } = await accepted(fake, { ...plain, tools, stream: true });
  assert.match(headers.get("content-type") ?? "", /^text\/event-stream/);
  const types = [...stream.matchAll(/^event: (\S+)\ndata: \{"type":"(\S+?)"/gm)].map(([, name, type]) => {
    assert.equal(name, type);
    return name;
  });
  assert.deepEqual(types, [
    ...[
      "message_start",
      "content_block_start",
      "ping",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
    ],
    ...["content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"],
    ...["message_delta", "message_stop"],
  ]);
});

test("it refuses on demand, and keeps the requests that it received", async (context) => {
  const fake = await started(context);
  fake.next(rateLimited("7"));
  const answer = await send(fake, plain);
  assert.deepEqual([answer.status, answer.headers.get("retry-after")], [429, "7"]);
  assert.equal(fake.requests[0]?.raw.toString(), JSON.stringify(plain));
  assert.match(await refused(fake, {}), /model: Field required/);
  assert.equal(fake.requests[1]?.refusal?.status, 400);
});

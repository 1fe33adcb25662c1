/** Creating responses, driven by the official SDK (O1, O2, O4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testOpenAi } from "../../../../testing/openai-door.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";

test("[O1] a response is created, with every field that a response has", async (t) => {
  const { openai } = await testOpenAi(t, { script: () => "Hello there" });
  const response = await openai.responses.create({ input: "hi", model: "scripted-1", metadata: { a: "b" } });
  assert.equal(response.output_text, "Hello there");
  const { id, created_at, completed_at, output, usage, output_text: _text, ...rest } = response;
  assert.match(id, /^resp_[0-9a-f]{32}$/);
  assert.ok(created_at > 1_700_000_000 && (completed_at ?? 0) >= created_at);
  assert.partialDeepStrictEqual(output, [{ type: "message", status: "completed", role: "assistant" }]);
  assert.ok(usage !== null && usage !== undefined && usage.total_tokens > 0);
  assert.deepEqual(usage.output_tokens_details, { reasoning_tokens: 0 });
  assert.deepEqual(
    { ...rest, _request_id: undefined },
    {
      object: "response",
      status: "completed",
      background: false,
      error: null,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: { a: "b" },
      model: "scripted-1",
      parallel_tool_calls: true,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      service_tier: "default",
      store: true,
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 0,
      text: { format: { type: "text" } },
      tool_choice: "auto",
      tools: [],
      truncation: "auto",
      _request_id: undefined,
    },
  );
});

test("[O2] a response continues another one by its id, with the same history", async (t) => {
  const { openai, provider } = await testOpenAi(t, { remembers: false });
  const first = await openai.responses.create({ input: "one" });
  const second = await openai.responses.create({ input: "two", previous_response_id: first.id });
  assert.equal(second.previous_response_id, first.id);
  assert.deepEqual(
    provider.exchanges[1]?.call.items.map((item) => ("parts" in item ? item.parts[0] : "text" in item && item.text)),
    ["[MODE: ask]\n\n[INSTRUCTION]\none", "answer 1", "[MODE: ask]\n\n[INSTRUCTION]\ntwo"],
  );
});

test("[O2] two continuations of one response at once are two branches, and neither is refused", async (t) => {
  const { openai, provider } = await testOpenAi(t, { remembers: false });
  const first = await openai.responses.create({ input: "one" });
  const ask = (input: string) => openai.responses.create({ input, previous_response_id: first.id });
  const both = await Promise.all([ask("left"), ask("right")]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ["completed", "completed"],
  );
  for (const { call } of provider.exchanges.slice(1)) assert.equal(call.items.length, 3);
});

test("[O1] the SDK's stream gives every event in order, and its accumulator the same response as a retrieve", async (t) => {
  const { openai } = await testOpenAi(t, { script: () => [{ thinks: "hm" }, { says: ["Hel", "lo"] }] });
  const stream = openai.responses.stream({ input: "hi", model: "scripted-1" });
  const types: string[] = [];
  const numbers: number[] = [];
  for await (const event of stream) {
    types.push(event.type);
    numbers.push(event.sequence_number);
  }
  assert.deepEqual(types, [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    "response.reasoning_summary_part.done",
    "response.output_item.done",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
  ]);
  assert.deepEqual(numbers, [...numbers.keys()]);
  const final = await stream.finalResponse();
  assert.equal(final.output_text, "Hello");
  const stored = await openai.responses.retrieve(final.id);
  const { _request_id: _id, ...plain } = stored as typeof stored & { _request_id?: string };
  assert.deepEqual(JSON.parse(JSON.stringify(plain.output)), JSON.parse(JSON.stringify(stripParsed(final.output))));
  assert.deepEqual(plain.usage, final.usage);
});

/** The accumulator adds what it parsed. */
function stripParsed(output: unknown): unknown {
  return JSON.parse(JSON.stringify(output, (key, value: unknown) => (key.startsWith("parsed") ? undefined : value)));
}

test("[O2] a stream is resumed from any event of it, while it runs and ever after", async (t) => {
  const { openai } = await testOpenAi(t, { script: () => "one two three" });
  const whole: string[] = [];
  const stream = await openai.responses.create({ input: "hi", stream: true });
  let id = "";
  for await (const event of stream) {
    whole.push(JSON.stringify(event));
    if (event.type === "response.created") id = event.response.id;
  }
  for (let from = 0; from < whole.length; from++) {
    const rest: string[] = [];
    const resumed = await openai.responses.retrieve(id, { stream: true, starting_after: from });
    for await (const event of resumed) rest.push(JSON.stringify(event));
    assert.deepEqual([...whole.slice(0, from + 1), ...rest], whole);
  }
});

test("[O2] a position beyond the end gives an empty stream, and one that is no number is refused", async (t) => {
  const { openai, wireError } = await testOpenAi(t);
  const { id } = await openai.responses.create({ input: "hi" });
  for await (const event of await openai.responses.retrieve(id, { stream: true, starting_after: 10_000 })) {
    assert.fail(event.type);
  }
  const refused = await wireError(`GET /v1/responses/${id}?stream=true&starting_after=x`);
  assert.deepEqual([refused.status, refused.param], [400, "starting_after"]);
});

test("[O4] the client's tools come back as function calls, and their outputs continue the response", async (t) => {
  const { openai, provider } = await testOpenAi(t, {
    script: (_call, n) => (n === 1 ? [{ calls: "weather", with: { city: "Oslo" }, callId: "call_1" }] : "It rains."),
  });
  const tools = [
    { type: "function" as const, name: "weather", description: "w", parameters: { type: "object" }, strict: true },
  ];
  const first = await openai.responses.create({ input: "Oslo?", tools });
  assert.equal(first.status, "completed");
  const [call] = first.output;
  assert.partialDeepStrictEqual(call, {
    type: "function_call",
    status: "completed",
    call_id: "call_1",
    name: "weather",
    arguments: '{"city":"Oslo"}',
  });
  assert.deepEqual(first.tools, tools);
  const second = await openai.responses.create({
    previous_response_id: first.id,
    tools,
    input: [{ type: "function_call_output", call_id: "call_1", output: "rain" }],
  });
  assert.equal(second.output_text, "It rains.");
  assert.partialDeepStrictEqual(provider.exchanges[1]?.context.at(-1), { type: "tool_result", output: "rain" });
});

test("[O4] tools and instructions are never inherited", async (t) => {
  const { openai, provider } = await testOpenAi(t);
  const tools = [{ type: "function" as const, name: "f", parameters: { type: "object" }, strict: false }];
  const first = await openai.responses.create({ input: "one", tools, instructions: "Rhyme." });
  const second = await openai.responses.create({ input: "two", previous_response_id: first.id });
  assert.deepEqual([first.instructions, second.instructions], ["Rhyme.", null]);
  assert.deepEqual(second.tools, []);
  assert.deepEqual(provider.exchanges[1]?.call.tools, []);
  assert.doesNotMatch(provider.exchanges[1]?.call.prompt ?? "", /Rhyme/);
});

test("[O5] a whole history in the input is history for the model", async (t) => {
  const { openai, provider } = await testOpenAi(t);
  await openai.responses.create({
    input: [
      { role: "developer", content: "Be brief." },
      { role: "user", content: [{ type: "input_text", text: "one" }] },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "seen" },
      { role: "assistant", content: "first", phase: "final_answer" },
      { role: "user", content: "two" },
    ],
  });
  assert.deepEqual(
    provider.exchanges[0]?.call.items.map(({ type }) => type),
    ["user", "user", "tool_call", "tool_result", "assistant", "user"],
  );
});

test("[O1] a failure of the model is an error for who waits, and an event for who listens", async (t) => {
  const { openai } = await testOpenAi(t, { script: () => [{ fails: "provider_quota_exhausted" }] });
  await assert.rejects(openai.responses.create({ input: "hi" }), { status: 429, code: "insufficient_quota" });
  const types: string[] = [];
  for await (const event of await openai.responses.create({ input: "hi", stream: true })) types.push(event.type);
  assert.equal(types.at(-1), "response.failed");
});

test("[O1] a response that was cut at its limit is incomplete, and so is its last item", async (t) => {
  const { openai } = await testOpenAi(t, { script: () => [{ says: "cut" }, { stops: "length" }] });
  const response = await openai.responses.create({ input: "hi", max_output_tokens: 16 });
  assert.deepEqual([response.status, response.incomplete_details], ["incomplete", { reason: "max_output_tokens" }]);
  assert.partialDeepStrictEqual(response.output, [{ status: "incomplete" }]);
  assert.equal(response.completed_at, null);
});

test("[O1] [H4] a foreign response, a deleted one and one that never was give the same bytes", async (t) => {
  const { openai, person, door } = await testOpenAi(t);
  const { id } = await openai.responses.create({ input: "mine" });
  const stranger = await person("member");
  const never = `resp_${"0".repeat(32)}`;
  const send = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${stranger.key}`, "content-type": "application/json" };
    const request = new Request(`http://localhost:4870${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const response = await door.fetch(request);
    return `${response.status} ${(await response.text()).replaceAll(id, "ID").replaceAll(never, "ID")}`;
  };
  for (const path of [(of: string) => `/v1/responses/${of}`, (of: string) => `/v1/responses/${of}?stream=true`]) {
    assert.equal(await send("GET", path(id)), await send("GET", path(never)));
  }
  const create = (of: string) => ({ input: "x", previous_response_id: of });
  const refused = await send("POST", "/v1/responses", create(id));
  assert.equal(refused, await send("POST", "/v1/responses", create(never)));
  assert.match(refused, /^400 .*previous_response_not_found/);
});

test("[O1] bad input is refused with the parameter named", async (t) => {
  const { wireError } = await testOpenAi(t);
  const cases: [param: string | null, code: string, body: unknown][] = [
    [null, "invalid_json", "{"],
    ["input", "missing_required_parameter", {}],
    ["input[0].content[0].type", "invalid_value", { input: [{ role: "user", content: [{ type: "video" }] }] }],
    ["input[0].role", "invalid_value", { input: [{ role: "boss", content: "x" }] }],
    [
      "input[1].call_id",
      "missing_required_parameter",
      {
        input: [
          { role: "user", content: "x" },
          { type: "function_call_output", output: "x" },
        ],
      },
    ],
    ["input[0].type", "unsupported_parameter", { input: [{ type: "computer_call" }] }],
    ["input", "tool_feedback_invalid", { input: [{ type: "function_call_output", call_id: "c", output: "x" }] }],
    ["tools[0].type", "unsupported_parameter", { input: "x", tools: [{ type: "web_search" }] }],
    ["tools[0].name", "missing_required_parameter", { input: "x", tools: [{ type: "function" }] }],
    ["tool_choice", "tool_choice_unknown", { input: "x", tool_choice: { type: "function", name: "f" } }],
    ["temperature", "invalid_value", { input: "x", temperature: 3 }],
    ["metadata.a", "invalid_value", { input: "x", metadata: { a: "b".repeat(513) } }],
    ["model", "model_not_found", { input: "x", model: "context:none" }],
    [
      "previous_response_id",
      "mutually_exclusive_parameters",
      { input: "x", previous_response_id: "resp_1", conversation: "conv_1" },
    ],
    ["previous_response_id", "previous_response_not_found", { input: "x", previous_response_id: "resp_1" }],
    [
      "input[0].content[0].file_id",
      "unsupported_parameter",
      { input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] },
    ],
  ];
  for (const [param, code, body] of cases) {
    const error = await wireError("POST /v1/responses", body);
    assert.deepEqual([error.status, error.param, error.code], [400, param, code], JSON.stringify([body, error]));
  }
});

test("[O1] unknown fields are ignored, and items that only this server has are left out", async (t) => {
  const { openai } = await testOpenAi(t);
  const input = [
    { type: "aptove:context", id: "ctx_1" },
    { role: "user", content: "x", odd: 1 },
  ];
  const response = await openai.responses.create({ input, novel: true } as never);
  assert.equal((response as unknown as { status: string }).status, "completed");
});

test("[O1] an unknown path, a wrong key and a body that is too large have OpenAI's form", async (t) => {
  const { wireError, admin } = await testOpenAi(t);
  assert.equal((await wireError("GET /v1/nothing")).status, 404);
  const unknown = await wireError("GET /v1/models", undefined, { ...admin, key: "wrong" });
  assert.deepEqual([unknown.status, unknown.code], [401, "invalid_api_key"]);
  const large = await wireError("POST /v1/responses", { input: "x".repeat(17_000_000) });
  assert.deepEqual([large.status, large.code], [413, "body_too_large"]);
});

test("[O1] [O5] ten thousand items are taken", async (t) => {
  const { openai, provider } = await testOpenAi(t);
  const input = Array.from({ length: 10_000 }, (_, index) => {
    return {
      role: index % 2 === 0 ? ("user" as const) : ("assistant" as const),
      content: `text ${index} ${"y".repeat(80)}`,
    };
  });
  await openai.responses.create({ input: [...input, { role: "user", content: "now" }] });
  assert.equal(provider.exchanges[0]?.call.items.length, 10_001);
});

test("[O4] models lists the models of the providers, and the contexts", async (t) => {
  const { openai } = await testOpenAi(t);
  const ids = (await openai.models.list()).data.map(({ id }) => id);
  assert.ok(ids.includes("context:default"), ids.join());
  assert.equal((await openai.models.retrieve("context:default")).owned_by, "aptove");
  await assert.rejects(openai.models.retrieve("context:none"), { status: 404, code: "model_not_found" });
});

test("[O1] [G3] parse returns what the model wrote in the form of a schema, which the model is given", async (t) => {
  const { openai, provider } = await testOpenAi(t, { script: () => '{"city":"Oslo"}' });
  const schema = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  };
  const text = { format: { type: "json_schema" as const, name: "place", schema, strict: true } };
  const response = await openai.responses.parse({ input: "Where?", model: "scripted-1", text });
  assert.deepEqual(JSON.parse(response.output_text), { city: "Oslo" });
  assert.deepEqual(provider.exchanges[0]?.call.settings.answerFormat, {
    type: "schema",
    name: "place",
    schema,
    strict: true,
  });
  assert.partialDeepStrictEqual(response.text, text);
  const next = await openai.responses.create({ input: "Why?", previous_response_id: response.id });
  assert.deepEqual(next.text, { format: { type: "text" } });
  assert.equal(provider.exchanges[1]?.call.settings.answerFormat, undefined);
});

test("[O4] tool_choice reaches the model: none, required, one function, or some of them", async (t) => {
  const { openai, provider } = await testOpenAi(t);
  const tool = (name: string) => ({ type: "function" as const, name, parameters: { type: "object" }, strict: false });
  const tools = [tool("a"), tool("b")];
  const allowed = {
    type: "allowed_tools" as const,
    mode: "required" as const,
    tools: [{ type: "function", name: "a" }],
  };
  for (const choice of ["none", "required", { type: "function" as const, name: "b" }, allowed] as const) {
    const { tool_choice } = await openai.responses.create({ input: "x", tools, tool_choice: choice });
    assert.deepEqual(tool_choice, choice);
  }
  assert.deepEqual(
    provider.exchanges.map(({ call }) => [call.toolChoice, call.allowedTools, call.mustCall ?? false]),
    [
      [null, [], false],
      [null, null, true],
      ["b", null, false],
      ["a", ["a"], false],
    ],
  );
});

test("[O4] a call of a tool that the choice does not allow is answered by the server, and shown as its own", async (t) => {
  const { openai } = await testOpenAi(t, { script: (_call, n) => (n === 1 ? [{ calls: "b" }] : "Then not.") });
  const tool = (name: string) => ({ type: "function" as const, name, parameters: { type: "object" }, strict: false });
  const response = await openai.responses.create({
    input: "x",
    tools: [tool("a"), tool("b")],
    tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "a" }] },
  });
  assert.deepEqual(
    response.output.map(({ type }) => type as string),
    ["aptove:tool_call", "message"],
  );
});

test("[O1] [I1] images come as data URLs, reach the model, and stay in the history", async (t) => {
  const scripted = scriptedProvider();
  const { openai } = await testOpenAi(t, { provider: { ...scripted, takes: () => ["image/png"] } });
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
  const image = { type: "input_image" as const, detail: "auto" as const, image_url: `data:image/png;base64,${png}` };
  const input = [{ role: "user" as const, content: [{ type: "input_text" as const, text: "What is it?" }, image] }];
  const first = await openai.responses.create({ input });
  await openai.responses.create({ input: "And its colour?", previous_response_id: first.id });
  for (const { request } of scripted.exchanges) assert.match(request.body, /"media":\[/);
  const { data } = await openai.responses.inputItems.list(first.id);
  assert.partialDeepStrictEqual(data, [{ content: [{ type: "input_text" }, { type: "input_image" }] }]);
});

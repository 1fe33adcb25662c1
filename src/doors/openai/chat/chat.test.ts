/** Chat completions, driven by the official SDK (O1, O5). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { testOpenAi } from "../../../../testing/openai-door.ts";

const weather = {
  type: "function" as const,
  function: { name: "weather", description: "w", parameters: { type: "object", properties: {} } },
};

test("[O1] a chat completion answers, with its usage", async (t) => {
  const { openai, provider } = await testOpenAi(t, { script: () => [{ says: "Hello" }, { says: "there." }] });
  const completion = await openai.chat.completions.create({
    model: "scripted-1",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "hi" }] },
    ],
  });
  assert.match(completion.id, /^chatcmpl-[0-9a-f]{32}$/);
  assert.deepEqual(completion.choices, [
    {
      index: 0,
      message: { role: "assistant", content: "Hello\n\nthere.", refusal: null, annotations: [] },
      finish_reason: "stop",
      logprobs: null,
    },
  ]);
  assert.ok((completion.usage?.total_tokens ?? 0) > 0);
  assert.match(provider.exchanges[0]?.call.prompt ?? "", /Be brief\./);
});

test("[O1] the SDK's stream gives the same answer as one piece, tool calls and usage included", async (t) => {
  const { openai } = await testOpenAi(t, {
    script: () => [{ says: ["Let me ", "look."] }, { calls: "weather", with: { city: "Oslo" }, callId: "call_1" }],
  });
  const stream = openai.chat.completions.stream({
    model: "scripted-1",
    messages: [{ role: "user", content: "Oslo?" }],
    tools: [weather],
    stream_options: { include_usage: true },
  });
  const final = await stream.finalChatCompletion();
  const [choice] = final.choices;
  assert.equal(choice?.finish_reason, "tool_calls");
  assert.equal(choice.message.content, "Let me look.");
  assert.partialDeepStrictEqual(choice.message.tool_calls, [
    { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
  ]);
  assert.ok((final.usage?.completion_tokens ?? 0) > 0);
});

test("[O5] [T9] each call is a turn of one session, tool results too, and stores only what is new", async (t) => {
  const { openai, engine, admin, provider } = await testOpenAi(t, {
    script: (_call, n) => (n === 1 ? [{ calls: "weather", with: { city: "Oslo" }, callId: "call_1" }] : `answer ${n}`),
  });
  const messages: ChatCompletionMessageParam[] = [{ role: "user", content: "Oslo?" }];
  const ask = async () => {
    const { choices } = await openai.chat.completions.create({ model: "scripted-1", messages, tools: [weather] });
    const message = choices[0]?.message;
    assert.ok(message);
    messages.push({
      role: "assistant",
      content: message.content,
      ...(message.tool_calls && { tool_calls: message.tool_calls }),
    });
  };
  await ask();
  messages.push({ role: "tool", tool_call_id: "call_1", content: "rain" });
  await ask();
  messages.push({ role: "user", content: "And tomorrow?" });
  await ask();
  const { sessions } = await engine.sessions.list(admin, {});
  assert.equal(sessions.length, 1);
  const turns = await engine.turns.list(admin, sessions[0]?.id ?? "", {});
  assert.deepEqual(
    turns.map(({ status, sequence }) => [status, sequence]),
    [
      ["completed", 3],
      ["completed", 2],
      ["awaiting_tool_results", 1],
    ],
  );
  assert.deepEqual(
    provider.exchanges[2]?.context.map(({ type }) => type),
    ["user", "tool_call", "tool_result", "assistant", "user"],
  );
  for (const turn of turns) assert.equal((await (await engine.turns.read(admin, turn.id)).asked()).earlier.length, 0);
});

test("[O5] an edited message is a fork from where the history is still the same", async (t) => {
  const { openai, engine, admin } = await testOpenAi(t);
  const create = (messages: ChatCompletionMessageParam[]) =>
    openai.chat.completions.create({ model: "scripted-1", messages });
  const one: ChatCompletionMessageParam[] = [{ role: "user", content: "one" }];
  await create(one);
  const two: ChatCompletionMessageParam[] = [...one, { role: "assistant", content: "answer 1" }];
  await create([...two, { role: "user", content: "two" }]);
  await create([...two, { role: "user", content: "another two" }]);
  const { sessions } = await engine.sessions.list(admin, {});
  assert.equal(sessions.length, 2);
});

test("[O5] [K1] [K2] growing requests store what is new, and not what they send again", async (t) => {
  const { openai, deps, provider } = await testOpenAi(t, { remembers: false });
  const messages: ChatCompletionMessageParam[] = [];
  const turns = 64;
  let sent = 0;
  for (let n = 1; n <= turns; n++) {
    messages.push({ role: "user", content: `question ${n} ${"about many things ".repeat(20)}` });
    sent += JSON.stringify(messages).length;
    const { choices } = await openai.chat.completions.create({ model: "scripted-1", messages });
    messages.push({ role: "assistant", content: choices[0]?.message.content ?? "" });
  }
  assert.equal(provider.exchanges.length, turns);
  let stored = 0;
  for (const key of await deps.blobs.list("turns/")) stored += (await deps.blobs.size(key)) ?? 0;
  assert.ok(stored < sent * 0.6, `${stored} bytes are stored of ${sent} that were sent`);
});

test("[O1] a failure in a stream of chunks is an error for the client", async (t) => {
  const { openai } = await testOpenAi(t, { script: () => [{ says: "begun" }, { fails: "provider_rejected" }] });
  const stream = await openai.chat.completions.create({
    model: "scripted-1",
    messages: [{ role: "user", content: "hi" }],
    stream: true,
  });
  await assert.rejects(async () => {
    for await (const chunk of stream) assert.ok(chunk.choices.length <= 1);
  }, /the script fails here/);
});

test("[O1] bad chat completions are refused with the parameter named", async (t) => {
  const { wireError } = await testOpenAi(t);
  const user = { role: "user", content: "x" };
  const cases: [param: string, body: object][] = [
    ["messages", {}],
    ["messages", { messages: [] }],
    ["messages[0].role", { messages: [{ role: "boss", content: "x" }] }],
    ["n", { messages: [user], n: 2 }],
    ["tools[0].type", { messages: [user], tools: [{ type: "custom" }] }],
    ["messages", { messages: [{ role: "tool", tool_call_id: "c", content: "x" }] }],
    ["messages", { messages: [user, { role: "tool", tool_call_id: "c", content: "x" }, user] }],
  ];
  for (const [param, body] of cases) {
    const error = await wireError("POST /v1/chat/completions", body);
    assert.deepEqual([error.status, error.param], [400, param], JSON.stringify([body, error]));
    assert.doesNotMatch(error.message, /'input'|it at /);
  }
});

test("[O1] a chat completion with messages of the system alone is answered, as titles and summaries are asked for", async (t) => {
  const { openai, provider } = await testOpenAi(t);
  const ask = async (messages: ChatCompletionMessageParam[]) =>
    (await openai.chat.completions.create({ model: "scripted-1", messages })).choices[0]?.message.content;
  assert.equal(await ask([{ role: "system", content: "Write a title." }]), "answer 1");
  const both: ChatCompletionMessageParam[] = [
    { role: "developer", content: "Be brief." },
    { role: "system", content: "Write a summary." },
  ];
  assert.equal(await ask(both), "answer 2");
  const given = provider.exchanges.map(({ context }) => context);
  assert.deepEqual(given, [
    [{ type: "user", parts: ["[SYSTEM]\nWrite a title."] }],
    [{ type: "user", parts: ["[SYSTEM]\nWrite a summary."] }],
  ]);
  assert.match(provider.exchanges[1]?.call.prompt ?? "", /Be brief\./);
});

test("[O3] a chat completion that is not stored leaves no session", async (t) => {
  const { openai, engine, admin } = await testOpenAi(t, { script: () => ["Hel", "lo"].map((says) => ({ says })) });
  const asked = { model: "scripted-1", messages: [{ role: "user" as const, content: "hi" }], store: false };
  assert.equal((await openai.chat.completions.create(asked)).choices[0]?.message.content, "Hel\n\nlo");
  const stream = openai.chat.completions.stream({ ...asked, stream: true });
  assert.equal((await stream.finalMessage()).content, "Hel\n\nlo");
  assert.deepEqual((await engine.sessions.list(admin, {})).sessions, []);
});

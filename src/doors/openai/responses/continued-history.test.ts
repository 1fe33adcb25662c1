/** Which session a client continues that names nothing, because it sends its whole history each time (O5). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testOpenAi } from "../../../../testing/openai-door.ts";

const message = (role: "user" | "assistant", content: string) => ({ role, content });

test("[O5] a history that its client replaced goes on in the session of its prompt cache key, and the model gets the new one only", async (t) => {
  const { openai, provider, engine, admin } = await testOpenAi(t, { script: (_call, n) => `answer ${n}` });
  const chat = (messages: ReturnType<typeof message>[], key = "desk 1") =>
    openai.chat.completions.create({ model: "scripted-1", messages, prompt_cache_key: key });
  await chat([message("user", "one")]);
  await chat([message("user", "one"), message("assistant", "answer 1"), message("user", "two")]);
  // The client has compacted its history: no stored turn begins like this.
  await chat([
    message("user", "a summary of one and two"),
    message("assistant", "understood"),
    message("user", "three"),
  ]);
  const sent = JSON.stringify(provider.exchanges.at(-1)?.context);
  assert.match(sent, /a summary of one and two.*understood.*three/);
  assert.doesNotMatch(sent, /answer 1|answer 2/);
  const { sessions } = await engine.sessions.list(admin, { limit: 10 });
  assert.equal(sessions.length, 1);
  const history = await engine.turns.lineage(admin, sessions[0]?.headTurnId ?? "");
  const instructions = await Promise.all(
    history.map(async ({ id }) => (await engine.turns.read(admin, id)).instruction()),
  );
  assert.deepEqual(instructions.filter(Boolean).slice(0, 2), ["one", "two"]);
  assert.equal(instructions.at(-1), "three");
});

test("[O5] a prompt cache key that several sessions have, or another person's, names no session", async (t) => {
  const { openai, clientOf, person, engine, admin } = await testOpenAi(t);
  const replaced = [message("user", "new"), message("assistant", "so"), message("user", "next")];
  const chat = (client: typeof openai, messages: ReturnType<typeof message>[]) =>
    client.chat.completions.create({ model: "scripted-1", messages, prompt_cache_key: "shared" });
  const count = async (of = admin) => (await engine.sessions.list(of, { limit: 10 })).sessions.length;
  const other = await person("member");
  await chat(openai, [message("user", "one")]);
  await chat(clientOf(other), replaced);
  assert.deepEqual([await count(), await count(other)], [1, 1]);
  await chat(openai, [message("user", "two")]);
  assert.equal(await count(), 2, "a first message always begins a session");
  await chat(openai, replaced);
  assert.equal(await count(), 3);
});

test("[T8] [O1] a call without an output in the input is refused with OpenAI's error, and nothing is stored", async (t) => {
  const { wireError, provider, engine, admin } = await testOpenAi(t);
  const user = (content: string) => ({ role: "user", content });
  const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
  const expected = {
    status: 400,
    message: "No tool output found for function call c.",
    type: "invalid_request_error",
    param: "input",
    code: null,
  };
  for (const input of [
    [user("a"), call, user("b")],
    [user("a"), call],
  ]) {
    assert.deepEqual(await wireError("POST /v1/responses", { input }), expected);
  }
  const function_ = { name: "f", arguments: "{}" };
  const messages = [
    user("a"),
    { role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: function_ }] },
    user("b"),
  ];
  const ofChat = await wireError("POST /v1/chat/completions", { messages });
  assert.deepEqual([ofChat.status, ofChat.param, ofChat.code], [400, "messages", null]);
  assert.match(ofChat.message, /The following tool_call_ids did not have response messages: c$/);
  assert.equal(provider.exchanges.length, 0);
  assert.deepEqual((await engine.sessions.list(admin, { limit: 1 })).sessions, []);
});

test("[T8] [O5] an output that comes after a later message stands at its call, also when the history is sent again", async (t) => {
  const { openai, provider, engine, admin } = await testOpenAi(t, { remembers: false });
  const call = { type: "function_call" as const, call_id: "c", name: "f", arguments: "{}" };
  const output = { type: "function_call_output" as const, call_id: "c", output: "4" };
  const user = (content: string) => ({ role: "user" as const, content });
  const history = [user("a"), call, user("b"), output, user("c")];
  const { output_text: answer } = await openai.responses.create({ input: history });
  await openai.responses.create({ input: [...history, { role: "assistant", content: answer }, user("d")] });
  const kinds = provider.exchanges[1]?.call.items.map((item) =>
    item.type === "tool_result" ? item.output : item.type,
  );
  assert.deepEqual(kinds, ["user", "tool_call", "4", "user", "user", "assistant", "user"]);
  assert.equal((await engine.sessions.list(admin, { limit: 9 })).sessions.length, 1);
});

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

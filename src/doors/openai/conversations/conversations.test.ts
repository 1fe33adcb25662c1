/** Conversations and their items, driven by the official SDK (O1, O2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { repositoriesOf, type Retriever } from "../../../retrieval/retriever.ts";
import { testOpenAi, type OpenAiTest } from "../../../../testing/openai-door.ts";

async function textsOf({ openai }: OpenAiTest, id: string): Promise<string[]> {
  const texts: string[] = [];
  for await (const item of openai.conversations.items.list(id, { order: "asc", limit: 2 })) {
    const [part] = item.type === "message" ? (item.content as { text?: string }[]) : [];
    texts.push(part?.text ?? item.type);
  }
  return texts;
}

test("[O1] a conversation is made, read, changed and deleted", async (t) => {
  const { openai } = await testOpenAi(t);
  const made = await openai.conversations.create({ metadata: { topic: "cart" } });
  assert.match(made.id, /^conv_[0-9a-f]{32}$/);
  assert.deepEqual((await openai.conversations.retrieve(made.id)).metadata, { topic: "cart" });
  const updated = await openai.conversations.update(made.id, { metadata: { topic: "tax" } });
  assert.deepEqual([updated.metadata, updated.created_at], [{ topic: "tax" }, made.created_at]);
  const deleted = await openai.conversations.delete(made.id);
  assert.deepEqual([deleted.id, deleted.deleted], [made.id, true]);
  await assert.rejects(openai.conversations.retrieve(made.id), { status: 404 });
  await assert.rejects(openai.responses.create({ input: "x", conversation: made.id }), { status: 404 });
});

test("[O2] responses join their conversation, one after the other, with its first items", async (t) => {
  const tested = await testOpenAi(t);
  const { openai, provider } = tested;
  const { id } = await openai.conversations.create({ items: [{ type: "message", role: "user", content: "zero" }] });
  const answers = await Promise.all(
    ["one", "two"].map((input) => openai.responses.create({ input, conversation: id })),
  );
  for (const { conversation } of answers) assert.deepEqual(conversation, { id });
  const texts = await textsOf(tested, id);
  assert.deepEqual(texts.toSorted(), ["answer 1", "answer 2", "one", "two", "zero"]);
  assert.equal(texts[0], "zero");
  assert.deepEqual(provider.exchanges[1]?.context.length, 4);
});

test("[M7] [O2] a session about several repositories is a conversation, and each response searches all of them", async (t) => {
  const searched: string[][] = [];
  const retriever: Retriever = {
    search: async (query) => {
      searched.push(repositoriesOf(query).map(({ repo }) => repo));
      return [];
    },
    index: () => assert.fail("nothing is indexed here"),
    list: async () => [],
    close: async () => {},
  };
  const { openai, engine, admin } = await testOpenAi(t, { retrievers: new Map([["local", retriever]]) });
  const { id } = await engine.sessions.create(admin, { repo: "api", otherRepos: ["web"] });
  const conversation = `conv_${id.replaceAll("-", "")}`;
  const { id: first } = await openai.responses.create({ input: "one", conversation });
  await openai.responses.create({ input: "two", previous_response_id: first });
  assert.deepEqual(searched, [
    ["api", "web"],
    ["api", "web"],
  ]);
});

test("[O2] items are added without a model, read by id, and removed for later responses only", async (t) => {
  const tested = await testOpenAi(t);
  const { openai, provider } = tested;
  const { id } = await openai.conversations.create();
  const added = await openai.conversations.items.create(id, {
    items: [
      { type: "message", role: "user", content: "a secret" },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "seen" },
    ],
  });
  assert.deepEqual(
    added.data.map(({ type }) => type),
    ["message", "function_call", "function_call_output"],
  );
  const [secret, call] = added.data;
  assert.equal((await openai.conversations.items.retrieve(secret?.id ?? "", { conversation_id: id })).id, secret?.id);
  const before = await openai.responses.create({ input: "one", conversation: id });
  await openai.conversations.items.delete(secret?.id ?? "", { conversation_id: id });
  await openai.conversations.items.delete(call?.id ?? "", { conversation_id: id });
  assert.deepEqual(await textsOf(tested, id), ["one", "answer 1"]);
  await openai.responses.create({ input: "two", conversation: id });
  const types = (n: number) => provider.exchanges[n]?.context.map((item) => item.type);
  assert.deepEqual(types(1), ["user", "assistant", "user"]);
  // The response from before the removal keeps its history.
  await openai.responses.create({ input: "three", previous_response_id: before.id });
  assert.deepEqual(types(2), ["user", "tool_call", "tool_result", "user", "assistant", "user"]);
});

test("[O1] [H4] foreign conversations and items do not exist, and faults name the parameter", async (t) => {
  const { openai, person, clientOf, wireError, admin } = await testOpenAi(t);
  const { id } = await openai.conversations.create({ items: [{ type: "message", role: "user", content: "mine" }] });
  const member = await person("member");
  const stranger = clientOf(member);
  const never = `conv_${"0".repeat(32)}`;
  for (const line of ["GET /v1/conversations/ID", "DELETE /v1/conversations/ID", "GET /v1/conversations/ID/items"]) {
    const [foreign, unknown] = await Promise.all(
      [id, never].map((of) => wireError(line.replace("ID", of), undefined, member)),
    );
    assert.deepEqual({ ...foreign, message: "" }, { ...unknown, message: "" });
    assert.equal(foreign?.message.replace(id, never), unknown?.message);
  }
  await assert.rejects(stranger.responses.create({ input: "x", conversation: id }), { status: 404 });
  const many = { items: Array.from({ length: 21 }, () => ({ role: "user", content: "x" })) };
  assert.equal((await wireError("POST /v1/conversations", many, admin)).param, "items");
  assert.equal((await wireError(`GET /v1/conversations/${id}/items/item_x`)).status, 404);
});

test("[O2] [T8] a call of a conversation waits for its output, which comes with later items or a response", async (t) => {
  const { openai, provider } = await testOpenAi(t);
  const called = (call_id: string) => ({ type: "function_call" as const, call_id, name: "f", arguments: "{}" });
  const output = (call_id: string) => ({ type: "function_call_output" as const, call_id, output: `of ${call_id}` });
  const asked = { type: "message" as const, role: "user" as const, content: "one" };
  const { id } = await openai.conversations.create();
  const types = async () =>
    (await openai.conversations.items.list(id, { order: "asc" })).data.map((item) => item.type as string);
  await openai.conversations.items.create(id, { items: [asked, called("a")] });
  assert.deepEqual(await types(), ["message", "function_call"]);
  await openai.conversations.items.create(id, { items: [output("a")] });
  await openai.conversations.items.create(id, { items: [called("b")] });
  await openai.responses.create({ input: [output("b")], conversation: id });
  assert.deepEqual(
    provider.exchanges[0]?.context.map((item) => (item.type === "tool_result" ? item.output : item.type)),
    ["user", "tool_call", "of a", "tool_call", "of b"],
  );
});

test("[O1] a key of the metadata that would be lost is refused, and so is metadata that is missing or no pairs", async (t) => {
  const { openai, wireError } = await testOpenAi(t);
  const { id } = await openai.conversations.create({ metadata: { constructor: "x" } });
  assert.deepEqual((await openai.conversations.retrieve(id)).metadata, { constructor: "x" });
  const lines = ["POST /v1/conversations", `POST /v1/conversations/${id}`, "POST /v1/responses"];
  for (const line of lines) {
    const { param, message } = await wireError(line, '{"input":"x","metadata":{"__proto__":"x"}}');
    assert.deepEqual([param, /the key `__proto__`/.test(message)], ["metadata", true], line);
    const { code } = await wireError(line, { input: "x", metadata: "x" });
    assert.equal(code, "invalid_type", line);
    const number = await wireError(line, '{"input":"x","metadata":{"n":1e400}}');
    assert.equal(number.param, "metadata.n");
  }
  assert.equal((await wireError(`POST /v1/conversations/${id}`, {})).code, "missing_required_parameter");
});

test("[O1] a conversation whose first items are refused is not made, and the fault names the item", async (t) => {
  const { openai, engine, admin, wireError } = await testOpenAi(t);
  const image = { role: "user", content: [{ type: "input_image" }] };
  const refused: [param: string, items: object[]][] = [
    ["items[0].type", [{ type: "zzz" }]],
    ["items", [{ type: "reasoning", summary: [] }]],
    ["items", [{ type: "function_call_output", call_id: "c", output: "of no call" }]],
    ["items", [{ type: "item_reference", id: "msg_none" }]],
    ["items[1].content[0].image_url", [{ role: "user", content: "x" }, image]],
  ];
  for (const [param, items] of refused) {
    const error = await wireError("POST /v1/conversations", { items });
    assert.equal(error.param, param, JSON.stringify(error));
    assert.doesNotMatch(error.message, /'input/);
  }
  assert.deepEqual((await engine.sessions.list(admin, {})).sessions, []);
  const { id } = await openai.conversations.create();
  for (const [param, items] of refused) {
    assert.equal((await wireError(`POST /v1/conversations/${id}/items`, { items })).param, param);
  }
  const made = await openai.conversations.create({
    metadata: { topic: "cart" },
    items: [{ type: "message", role: "user", content: "kept" }],
  });
  assert.deepEqual(made.metadata, { topic: "cart" });
  assert.equal((await openai.conversations.items.list(made.id)).data.length, 1);
});

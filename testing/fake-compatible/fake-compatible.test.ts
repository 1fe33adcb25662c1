/** The fake refuses what compatible servers refuse, and streams as they do. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { closedAfter, post, type PostedAnswer } from "../fake-server/posted.ts";
import { type FakeCompatible, startFakeCompatible } from "./fake-compatible.ts";

async function started(context: TestContext): Promise<FakeCompatible> {
  return closedAfter(context, await startFakeCompatible({ models: ["m"], tag: "t" }));
}

async function send(fake: FakeCompatible, body: unknown, path = "/chat/completions"): Promise<PostedAnswer> {
  return await post(`${fake.url}${path}`, body);
}

const system = { role: "system", content: "be brief" };
const user = { role: "user", content: "hello" };
const answered = { role: "assistant", content: "hi" };
const calls = (...ids: string[]) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })),
});
const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "4" });
const tool = { type: "function", function: { name: "f", parameters: {} } };
const body = (fields: object) => ({ model: "m", stream: true, messages: [user], ...fields });

const taken: object[] = [
  {},
  { messages: [system, user, answered, user] },
  { messages: [user, calls("a", "b"), result("b"), result("a")] },
  { messages: [user, { ...calls("a"), content: "so", reasoning: "hm" }, result("a"), answered, user], tools: [tool] },
  { tools: [tool], tool_choice: "required" },
];

test("the fake accepts what every server accepts", async (context) => {
  const fake = await started(context);
  for (const fields of taken) {
    const { status, text } = await send(fake, body(fields));
    assert.equal(status, 200, text);
    assert.ok(text.endsWith("data: [DONE]\n\n"));
  }
  assert.ok(fake.requests.every((request) => request.refusal === null && request.body !== null));
});

const invalidCall = {
  ...calls("a"),
  tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{" } }],
};

const refused: [name: string, fields: object, message: RegExp][] = [
  ["an unknown field", { tool_chioce: "auto" }, /Unknown parameter: 'tool_chioce'/],
  ["no messages", { messages: undefined }, /Missing required parameter: 'messages'/],
  [
    "content in parts",
    { messages: [{ role: "user", content: [{ type: "text", text: "a" }] }] },
    /messages\[0\]\.content/,
  ],
  ["a choice by name", { tools: [tool], tool_choice: { type: "function", function: { name: "f" } } }, /tool_choice/],
  ["a choice without tools", { tool_choice: "required" }, /`tools` must be set/],
  ["an empty list of tools", { tools: [] }, /must not be an empty array/],
  ["an unknown role", { messages: [{ role: "developer", content: "a" }] }, /Invalid value: 'developer'/],
  ["an unknown effort", { reasoning_effort: "minimal" }, /Invalid value: 'minimal'/],
  ["two of a role", { messages: [user, user] }, /must alternate/],
  ["a late system message", { messages: [user, system, user] }, /must be at the beginning/],
  ["an answer at the end", { messages: [user, answered] }, /last message/],
  ["an empty answer", { messages: [user, { role: "assistant", content: null }, user] }, /Expected 'content'/],
  ["a result without its call", { messages: [user, result("a")] }, /No tool call with id 'a'/],
  ["a result twice", { messages: [user, calls("a"), result("a"), result("a")] }, /No tool call with id 'a'/],
  [
    "a call without its result",
    { messages: [user, calls("a", "b"), result("a"), user] },
    /No tool output found for: b/,
  ],
  ["an open call at the end", { messages: [user, calls("a")] }, /No tool output found for: a/],
  ["an id twice", { messages: [user, calls("a"), result("a"), calls("a"), result("a")] }, /used twice/],
  ["arguments that are no object", { messages: [user, invalidCall, result("a")] }, /invalid tool call arguments/],
];

for (const [name, fields, message] of refused) {
  test(`it refuses ${name}`, async (context) => {
    const fake = await started(context);
    const { status, text } = await send(fake, body(fields));
    assert.equal(status, 400);
    const { error } = JSON.parse(text) as { error: { message: string } };
    assert.match(error.message, message);
    assert.notEqual(fake.requests[0]?.refusal, null);
  });
}

test("a model that it does not serve, and a path that it does not have, are 404", async (context) => {
  const fake = await started(context);
  const missing = await send(fake, { ...body({}), model: "other" });
  assert.deepEqual([missing.status, /not found, try pulling it first/.test(missing.text)], [404, true]);
  const { status, text } = await send(fake, {}, "/responses");
  assert.deepEqual({ status, text }, { status: 404, text: "404 page not found" });
});

test("usage is sent only on request", async (context) => {
  const fake = await started(context);
  const without = await send(fake, body({}));
  const withUsage = await send(fake, body({ stream_options: { include_usage: true } }));
  assert.deepEqual([/"usage"/.test(without.text), /"usage":\{"prompt_tokens"/.test(withUsage.text)], [false, true]);
});

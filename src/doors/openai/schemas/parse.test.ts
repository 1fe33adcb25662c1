/** The sentences of refused values, as a client reads them (O1). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testOpenAi } from "../../../../testing/openai-door.ts";

const user = { role: "user", content: "x" };

test("[O1] a body that is missing or no object is named as the body, and not as a parameter without a name", async (t) => {
  const { wireError } = await testOpenAi(t);
  for (const path of ["/v1/responses", "/v1/responses/compact", "/v1/chat/completions"]) {
    const missing = await wireError(`POST ${path}`);
    const words = "The body is missing; send an object of JSON.";
    assert.deepEqual([missing.message, missing.param, missing.code], [words, null, "missing_required_parameter"]);
    for (const body of ["[]", "null", '"x"', "1"]) {
      const { message, param, code } = await wireError(`POST ${path}`, body);
      assert.deepEqual([message, param, code], ["The body is not an object.", null, "invalid_type"], `${path} ${body}`);
    }
  }
});

test("[O1] a refused value is described in one whole sentence", async (t) => {
  const { openai, wireError } = await testOpenAi(t);
  const { id } = await openai.conversations.create();
  const many = Array.from({ length: 21 }, () => user);
  const format = { type: "json_schema", name: "a name", schema: {} };
  const cases: [path: string, body: object, message: string][] = [
    ["/v1/conversations", { items: many }, "Invalid value for 'items': it has more than 20 items."],
    [`/v1/conversations/${id}/items`, { items: many }, "Invalid value for 'items': it has more than 20 items."],
    [`/v1/conversations/${id}/items`, { items: [] }, "Invalid value for 'items': it has no items."],
    [
      "/v1/responses",
      { input: "x", text: { format } },
      "Invalid value for 'text.format.name': it must be 1 to 64 letters, digits, '_' or '-'.",
    ],
    [
      "/v1/chat/completions",
      { messages: [user], stop: ["a", "b", "c", "d", "e"] },
      "Invalid value for 'stop': it is too long; it must have at most 4 elements.",
    ],
    ["/v1/chat/completions", { messages: [user], stop: 5 }, "Invalid value for 'stop': it is not text."],
    ["/v1/chat/completions", { messages: [user], stop: ["a", 5] }, "Invalid value for 'stop[1]': it is not text."],
  ];
  for (const [path, body, message] of cases) {
    assert.equal((await wireError(`POST ${path}`, body)).message, message);
  }
});

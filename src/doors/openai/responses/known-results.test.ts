/** Outputs that a client sends again in a conversation (T9, O2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testOpenAi } from "../../../../testing/openai-door.ts";

test("[T9] [O2] an output that the conversation has already is ignored, and another one for the same call is refused", async (t) => {
  const { openai, provider } = await testOpenAi(t, {
    script: (_call, n) => (n < 3 ? [{ calls: "f", with: {}, callId: `call_${n}` }] : "done"),
  });
  const { id: conversation } = await openai.conversations.create();
  const tools = [{ type: "function" as const, name: "f", description: "f", parameters: {}, strict: false }];
  const output = (n: number, text = `output ${n}`) => {
    return { type: "function_call_output" as const, call_id: `call_${n}`, output: text };
  };
  const ask = (input: string | ReturnType<typeof output>[]) => openai.responses.create({ conversation, tools, input });
  await ask("begin");
  await ask([output(1)]);
  await assert.rejects(ask([output(1, "changed"), output(2)]), { status: 400 });
  await assert.rejects(ask([output(1)]), { status: 400 });
  const last = await ask([output(1), output(2)]);
  assert.equal(last.output_text, "done");
  const results = provider.exchanges[2]?.context.flatMap((item) => (item.type === "tool_result" ? [item.output] : []));
  assert.deepEqual(results, ["output 1", "output 2"]);
});

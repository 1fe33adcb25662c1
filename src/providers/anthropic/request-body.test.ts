import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkConversation } from "../../../testing/fake-anthropic/conversation-rules.ts";
import { checkFields, type MessagesBody } from "../../../testing/fake-anthropic/request-rules.ts";
import { bindingBeta, checkThinking } from "../../../testing/fake-anthropic/thinking-rules.ts";
import type { HistoryItem } from "../../domain/history.ts";
import type { ModelCall } from "../provider.ts";
import { anthropicProvider } from "./anthropic.ts";

const provider = anthropicProvider({ apiKey: "sk-ant-test-0123456789", model: "claude-opus-5" });

/** The exact bytes, which the strict rules take too. */
function bodyOf(call: ModelCall): string {
  const { body } = provider.prepare(call);
  check(JSON.parse(body));
  return body;
}

function check(body: unknown): MessagesBody {
  checkFields(body);
  checkConversation(body);
  checkThinking(body, [bindingBeta]);
  return body;
}

function messagesOf(items: HistoryItem[], more: Partial<ModelCall> = {}): MessagesBody["messages"] {
  return (JSON.parse(bodyOf({ ...first, items, ...more })) as MessagesBody).messages;
}

const tool = {
  name: "ddr_document",
  description: "Writes a DDR.",
  parameters: { type: "object", properties: {}, additionalProperties: false },
  strict: true,
};
const plainTool = { name: "look-up", parameters: {} };
const question: HistoryItem = { type: "user", parts: ["[MODE: ask]\n\n[INSTRUCTION]\nWhere?", "[CONTEXT]\n\n…"] };

const first: ModelCall = {
  model: "claude-test",
  prompt: "You are careful.",
  items: [question],
  previousResponseId: null,
  store: false,
  tools: [tool, plainTool],
  toolChoice: null,
  allowedTools: null,
  settings: {},
};

const front =
  '"stream":true,"cache_control":{"type":"ephemeral"},' +
  '"tools":[{"name":"ddr_document","description":"Writes a DDR.",' +
  '"input_schema":{"type":"object","properties":{},"additionalProperties":false},"strict":true},' +
  '{"name":"look-up","input_schema":{"type":"object"}}],' +
  '"system":[{"type":"text","text":"You are careful.","cache_control":{"type":"ephemeral"}}],';
const userMessage =
  '{"role":"user","content":[{"type":"text","text":"[MODE: ask]\\n\\n[INSTRUCTION]\\nWhere?"},' +
  '{"type":"text","text":"[CONTEXT]\\n\\n…"}]}';

test("[E1] [E2] [E4] a first call, byte for byte: the boot prompt as system, a forced tool, the settings", () => {
  const settings = { temperature: 0.2, maxOutputTokens: 4_000, reasoningEffort: "low" as const };
  assert.equal(
    bodyOf({ ...first, settings, toolChoice: "ddr_document" }),
    `{"model":"claude-test",${front}"max_tokens":4000,"output_config":{"effort":"low"},` +
      `"tool_choice":{"type":"tool","name":"ddr_document"},"messages":[${userMessage}]}`,
  );
});

const thinking: HistoryItem = {
  type: "reasoning",
  provider: "anthropic",
  model: "claude-opus-5-5",
  text: "hm",
  opaque: { type: "thinking", thinking: "hm", signature: "c2lnbmVk" },
};

test("[C1] [C5] a whole history, byte for byte: thinking as it came, results first, nothing that is empty", () => {
  const items: HistoryItem[] = [
    question,
    thinking,
    { type: "assistant", text: "Let me look.", phase: "commentary" },
    { type: "tool_call", callId: "call.1", name: "look-up", arguments: '{"a": 12345678901234567890}' },
    { type: "tool_call", callId: "call_2", name: "look up!", arguments: '{"a":' },
    { type: "tool_result", callId: "call.1", output: "4" },
    { type: "user", parts: ["", "And \ud83d this?"] },
    { type: "tool_result", callId: "call_2", output: " ", isError: true },
    { type: "assistant", text: "There." },
    { type: "user", parts: ["Sure?"] },
  ];
  assert.equal(
    bodyOf({ ...first, model: "claude-opus-5-5", items }),
    `{"model":"claude-opus-5-5",${front}"max_tokens":32000,` +
      '"thinking":{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}},' +
      `"messages":[${userMessage},{"role":"assistant","content":[` +
      '{"type":"thinking","thinking":"hm","signature":"c2lnbmVk"},{"type":"text","text":"Let me look."},' +
      '{"type":"tool_use","id":"call_e8b7b7b3793f991dd79d37cb","name":"look-up","input":{"a":12345678901234567890}},' +
      '{"type":"tool_use","id":"call_2","name":"look_up_","input":{"invalid_arguments":"{\\"a\\":"}}]},' +
      '{"role":"user","content":[' +
      '{"type":"tool_result","tool_use_id":"call_e8b7b7b3793f991dd79d37cb","content":"4"},' +
      '{"type":"tool_result","tool_use_id":"call_2","is_error":true},{"type":"text","text":"And \ufffd this?"}]},' +
      '{"role":"assistant","content":[{"type":"text","text":"There."}]},' +
      '{"role":"user","content":[{"type":"text","text":"Sure?"}]}]}',
  );
});

test("[C5] reasoning goes back only to its provider and model family, and only with its signature", () => {
  const assistant: HistoryItem = { type: "assistant", text: "a" };
  const droppedOf = (item: HistoryItem, model = "claude-opus-5-5"): number => {
    const call = { ...first, model, items: [question, item, assistant, question] };
    check(JSON.parse(provider.prepare(call).body));
    return provider.prepare(call).dropped[0]?.count ?? 0;
  };
  assert.equal(droppedOf(thinking), 0);
  assert.equal(droppedOf({ ...thinking, opaque: { type: "redacted_thinking", data: "ZGF0YQ" } }), 0);
  assert.equal(droppedOf(thinking, "claude-opus-5-5-20260922"), 0);
  assert.equal(droppedOf(thinking, "claude-opus-5"), 1);
  assert.equal(droppedOf({ ...thinking, provider: "other" }), 1);
  for (const signature of [null, "", undefined]) {
    assert.equal(droppedOf({ ...thinking, opaque: { type: "thinking", thinking: "hm", signature } }), 1);
  }
  assert.equal(droppedOf({ ...thinking, opaque: "c2lnbmVk" }), 1);
});

test("[C5] an answer that was cut while the model thought is left out, and counted", () => {
  const call = { ...first, model: "claude-opus-5-5", items: [question, thinking, thinking, question] };
  assert.deepEqual(provider.prepare(call).dropped, [{ kind: "reasoning", count: 2 }]);
  const [message, ...others] = messagesOf(call.items, { model: call.model });
  assert.equal(message?.content.length, 4);
  assert.deepEqual(others, []);
});

test("[C5] ids of other providers are mapped the same way each time, and never to the same one", () => {
  const ids = ["call_1", "call.1", "call:1", "", "functions.look:0", "größe", "toolu_01A-b"];
  const items: HistoryItem[] = [
    question,
    ...ids.map((callId): HistoryItem => ({ type: "tool_call", callId, name: "look-up", arguments: "{}" })),
    ...ids.map((callId): HistoryItem => ({ type: "tool_result", callId, output: callId })),
  ];
  const [, calls, results] = messagesOf(items);
  assert.ok(calls && results);
  const called = (calls.content as { id: string }[]).map(({ id }) => id);
  assert.deepEqual(
    (results.content as { tool_use_id: string }[]).map(({ tool_use_id: id }) => id),
    called,
  );
  assert.equal(new Set(called).size, ids.length);
  assert.deepEqual([called[0], called.at(-1)], ["call_1", "toolu_01A-b"]);
});

test("[C5] a history with calls is taken without any tools, which then cannot be called", () => {
  const items: HistoryItem[] = [
    question,
    { type: "tool_call", callId: "c1", name: "gone", arguments: "" },
    { type: "tool_result", callId: "c1", output: "x" },
  ];
  const body = JSON.parse(bodyOf({ ...first, items, tools: [] })) as MessagesBody;
  assert.deepEqual(body.tools, [{ name: "gone", input_schema: { type: "object" } }]);
  assert.deepEqual(body.tool_choice, { type: "none" });
  const fresh = JSON.parse(bodyOf({ ...first, tools: [], prompt: " " })) as MessagesBody;
  assert.deepEqual([fresh.tools, fresh.tool_choice, fresh.system], [undefined, undefined, undefined]);
});

function choiceOf(call: Partial<ModelCall>): unknown {
  return (JSON.parse(provider.prepare({ ...first, ...call }).body) as MessagesBody).tool_choice;
}

test("[E5] a mode leaves the list as it is; if it allows no tool, the request says so", () => {
  assert.equal(choiceOf({ allowedTools: ["look-up", "not there"] }), undefined);
  assert.equal(choiceOf({ allowedTools: null }), undefined);
  assert.deepEqual(choiceOf({ allowedTools: [] }), { type: "none" });
  assert.deepEqual(choiceOf({ allowedTools: ["not there"] }), { type: "none" });
  assert.equal(choiceOf({ allowedTools: [], tools: [] }), undefined);
  for (const allowedTools of [["look-up"], []]) assert.ok(bodyOf({ ...first, allowedTools }).includes(front));
});

test("[E4] a forced tool is never left out in silence", () => {
  const choice = (name: string) => ({ type: "tool", name });
  assert.deepEqual(choiceOf({ toolChoice: "gone", tools: [] }), choice("gone"));
  assert.deepEqual(choiceOf({ toolChoice: "look-up", allowedTools: [] }), choice("look-up"));
  assert.deepEqual(choiceOf({ toolChoice: "look-up", model: "claude-opus-5-5" }), choice("look-up"));
});

test("there is always a limit of tokens: of the settings, of the provider, or one that every model takes", () => {
  const limitOf = (maxOutputTokens?: number, own?: number): number => {
    const options = own === undefined ? {} : { maxOutputTokens: own };
    const settings = maxOutputTokens === undefined ? {} : { maxOutputTokens };
    const prepared = anthropicProvider({ apiKey: "k", model: "m", ...options }).prepare({ ...first, settings });
    return (JSON.parse(prepared.body) as MessagesBody).max_tokens;
  };
  assert.deepEqual([limitOf(), limitOf(500), limitOf(undefined, 700), limitOf(0, 700)], [32_000, 500, 700, 1]);
});

test("an assistant message that the model must continue does not end with white space", () => {
  const last = messagesOf([question, { type: "assistant", text: "So \n" }]).at(-1);
  assert.deepEqual(last, { role: "assistant", content: [{ type: "text", text: "So" }] });
});

const anyText = fc.oneof(fc.string(), fc.constantFrom("", " ", "\n", "\ud83d", "a \udc00", "spoken \n"));
const anyCall = fc.record({ name: anyText, arguments: fc.oneof(fc.json(), anyText, fc.constant('{"\\ud800":1}')) });
const anyReasoning = fc.record({
  provider: fc.constantFrom("anthropic", "other"),
  opaque: fc.constantFrom(undefined, { type: "thinking", thinking: "hm", signature: "s" }, { type: "x" }),
});

/** One turn of any provider: an instruction, then answers with calls, each with its result, and a last text. */
const anyTurn = fc.record({
  instruction: fc.tuple(fc.string({ minLength: 1 }), anyText).map(([word, rest]) => [`do ${word}`, rest]),
  steps: fc.array(
    fc.record({ reasoning: fc.array(anyReasoning, { maxLength: 2 }), text: anyText, calls: fc.array(anyCall) }),
    { maxLength: 3 },
  ),
  steer: fc.option(anyText, { nil: undefined }),
});

function historyOf(turns: (typeof anyTurn extends fc.Arbitrary<infer Turn> ? Turn : never)[]): HistoryItem[] {
  let calls = 0;
  return turns.flatMap(({ instruction, steps, steer }) => [
    { type: "user" as const, parts: instruction },
    ...steps.flatMap((step): HistoryItem[] => {
      const made = step.calls.map((call) => ({ ...call, callId: `id ${(calls += 1)}` }));
      return [
        ...step.reasoning.map((each): HistoryItem => ({
          type: "reasoning",
          model: "claude-opus-5-5",
          text: "hm",
          ...each,
        })),
        { type: "assistant", text: step.text },
        ...made.map((call): HistoryItem => ({ type: "tool_call", ...call })),
        ...(steer === undefined ? [] : [{ type: "user" as const, parts: [steer] }]),
        ...made.map(({ callId }): HistoryItem => ({ type: "tool_result", callId, output: step.text })),
      ];
    }),
  ]);
}

test("[C5] [T8] any history of any provider gives a request that is taken, and a longer one begins like it", () => {
  fc.assert(
    fc.property(fc.array(anyTurn, { minLength: 1, maxLength: 4 }), fc.boolean(), (turns, hasTools) => {
      const tools = hasTools ? first.tools : [];
      const model = "claude-opus-5-5";
      const before = messagesOf([...historyOf(turns), question], { tools, model });
      const after = messagesOf([...historyOf(turns), question, { type: "assistant", text: "a" }, question], {
        tools,
        model,
      });
      assert.deepEqual(after.slice(0, before.length), before);
      assert.ok(bodyOf({ ...first, tools, model, items: [...historyOf(turns), question] }).isWellFormed());
    }),
    { numRuns: 300 },
  );
});

test("[E8] the key shows in no fact of the provider; options that cannot be used are refused without naming it", () => {
  const apiKey = "sk-ant-secret";
  assert.ok(!JSON.stringify(anthropicProvider({ apiKey, model: "m" })).includes(apiKey));
  for (const options of [
    { apiKey: `${apiKey}\n` },
    { apiKey, baseUrl: "localhost:1" },
    { apiKey, headers: { "x y": apiKey } },
  ]) {
    assert.throws(
      () => anthropicProvider({ model: "m", ...options }),
      (error: Error & { code?: string }) => error.code === "config_invalid" && !error.message.includes(apiKey),
    );
  }
});

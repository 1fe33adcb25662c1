import assert from "node:assert/strict";
import { test } from "node:test";
import { checkChatBody } from "../../../testing/fake-compatible/request-rules.ts";
import type { HistoryItem } from "../../domain/history.ts";
import type { ModelCall } from "../provider.ts";
import { compatibleProvider } from "./compatible.ts";

const provider = compatibleProvider({ name: "local", baseUrl: "http://127.0.0.1:11434/v1", model: "qwen3:8b" });

/** The exact bytes, which the strict rules take too. */
function bodyOf(call: ModelCall): string {
  const { body } = provider.prepare(call);
  checkChatBody(JSON.parse(body));
  return body;
}

const lookUp = { name: "look-up", parameters: { type: "object", properties: {} } };
const write = { name: "write", description: "Writes.", parameters: { type: "object" }, strict: true };
const question: HistoryItem = { type: "user", parts: ["[MODE: ask]\n\n[INSTRUCTION]\nWhere?", "[CONTEXT]\n\n…"] };

const first: ModelCall = {
  model: "qwen3:8b",
  prompt: "You are careful.",
  items: [question],
  previousResponseId: null,
  store: false,
  tools: [lookUp, write],
  toolChoice: null,
  allowedTools: null,
  settings: { temperature: 0.2, maxOutputTokens: 4_000, reasoningEffort: "high" },
};

const front =
  '{"model":"qwen3:8b","stream":true,"stream_options":{"include_usage":true},"temperature":0.2,"max_tokens":4000,' +
  '"reasoning_effort":"high","messages":[{"role":"system","content":"You are careful."},';
const asked = '{"role":"user","content":"[MODE: ask]\\n\\n[INSTRUCTION]\\nWhere?\\n\\n[CONTEXT]\\n\\n…"}';
const lookUpTool = '{"type":"function","function":{"name":"look-up","parameters":{"type":"object","properties":{}}}}';
const writeTool =
  '{"type":"function","function":{"name":"write","description":"Writes.","parameters":{"type":"object"},"strict":true}}';

test("[E1] [E2] [E5] the first call, byte for byte: one text a message, tools at the end", () => {
  assert.equal(bodyOf(first), `${front}${asked}],"tools":[${lookUpTool},${writeTool}]}`);
});

const reasoning = (text: string, field = "reasoning_content"): HistoryItem => ({
  type: "reasoning",
  provider: "local",
  model: "qwen3:8b",
  text,
  opaque: { field },
});

test("[C1] [T8] a replay, byte for byte: one message for one answer, its calls, then their results", () => {
  const items: HistoryItem[] = [
    question,
    reasoning("hm"),
    { type: "assistant", text: "Let me look.", phase: "commentary" },
    { type: "tool_call", callId: "call_1", name: "look-up", arguments: '{"a": 1}' },
    { type: "tool_call", callId: "call_2", name: "look-up", arguments: "" },
    { type: "tool_result", callId: "call_1", output: "4" },
    { type: "tool_result", callId: "call_2", output: "failed: none", isError: true },
    { type: "tool_call", callId: "call_3", name: "write", arguments: "{}" },
    { type: "tool_result", callId: "call_3", output: "" },
    { type: "assistant", text: "There." },
    { type: "user", parts: ["And?"] },
  ];
  assert.equal(
    bodyOf({ ...first, tools: [], settings: {}, items }),
    '{"model":"qwen3:8b","stream":true,"stream_options":{"include_usage":true},"messages":[' +
      `{"role":"system","content":"You are careful."},${asked},` +
      '{"role":"assistant","reasoning_content":"hm","content":"Let me look.","tool_calls":[' +
      '{"id":"call_1","type":"function","function":{"name":"look-up","arguments":"{\\"a\\": 1}"}},' +
      '{"id":"call_2","type":"function","function":{"name":"look-up","arguments":"{}"}}]},' +
      '{"role":"tool","tool_call_id":"call_1","content":"4"},' +
      '{"role":"tool","tool_call_id":"call_2","content":"failed: none"},' +
      '{"role":"assistant","content":null,"tool_calls":[' +
      '{"id":"call_3","type":"function","function":{"name":"write","arguments":"{}"}}]},' +
      '{"role":"tool","tool_call_id":"call_3","content":""},' +
      '{"role":"assistant","content":"There."},{"role":"user","content":"And?"}]}',
  );
});

function messagesOf(items: HistoryItem[], model = first.model): unknown[] {
  const { messages } = JSON.parse(bodyOf({ ...first, model, items })) as { messages: unknown[] };
  return messages.slice(1);
}

test("[T8] arguments that are not an object are sent as a text within one, so that the server takes the history", () => {
  for (const written of ['{"a": ', "[1]", "null", "look there"]) {
    const items: HistoryItem[] = [
      question,
      { type: "tool_call", callId: "call_1", name: "write", arguments: written },
      { type: "tool_result", callId: "call_1", output: "the arguments are no object" },
    ];
    const [, message] = messagesOf(items) as { tool_calls: { function: { arguments: string } }[] }[];
    const sent = message?.tool_calls[0]?.function.arguments ?? "";
    assert.deepEqual(JSON.parse(sent), { invalid_arguments: written });
  }
});

test("[C5] neighbours of one role are one message", () => {
  const assistant = (text: string): HistoryItem => ({ type: "assistant", text });
  assert.deepEqual(messagesOf([question, assistant("a"), assistant("b"), { type: "user", parts: ["c"] }, question]), [
    JSON.parse(asked),
    { role: "assistant", content: "a\n\nb" },
    { role: "user", content: "c\n\n[MODE: ask]\n\n[INSTRUCTION]\nWhere?\n\n[CONTEXT]\n\n…" },
  ]);
});

test("[C5] reasoning goes back only to its provider and model family, in the field that it came in", () => {
  const answered = (item: HistoryItem): HistoryItem[] => [question, item, { type: "assistant", text: "a" }, question];
  const droppedOf = (item: HistoryItem, model = first.model): number =>
    provider.prepare({ ...first, model, items: answered(item) }).dropped[0]?.count ?? 0;
  const own = reasoning("hm");
  assert.equal(droppedOf(own), 0);
  assert.equal(droppedOf(own, "qwen3:14b"), 1);
  assert.equal(droppedOf({ ...own, provider: "other" } as HistoryItem), 1);
  assert.equal(droppedOf(reasoning("hm", "thoughts")), 1);
  const [, message] = messagesOf(answered(reasoning("hm", "reasoning")));
  assert.deepEqual(message, { role: "assistant", reasoning: "hm", content: "a" });
  const alone = messagesOf([question, own, question]);
  assert.deepEqual(alone[1], { role: "assistant", reasoning_content: "hm", content: "" });
});

function toolsOf(call: Partial<ModelCall>): { tools: string[]; choice: unknown } {
  const body = JSON.parse(provider.prepare({ ...first, ...call }).body) as {
    tools?: { function: { name: string } }[];
    tool_choice?: unknown;
  };
  return { tools: (body.tools ?? []).map((tool) => tool.function.name), choice: body.tool_choice };
}

test("[E5] a mode leaves the list as it is: the wire can allow no tool, but not only some", () => {
  const all = ["look-up", "write"];
  assert.deepEqual(toolsOf({}), { tools: all, choice: undefined });
  assert.deepEqual(toolsOf({ allowedTools: ["write", "not there"] }), { tools: all, choice: undefined });
  for (const allowedTools of [[], ["not there"]]) {
    assert.deepEqual(toolsOf({ allowedTools }), { tools: all, choice: "none" });
  }
  assert.deepEqual(toolsOf({ allowedTools: [], tools: [] }), { tools: [], choice: undefined });
});

test("[E4] a forced tool is the only one and required, and is never left out in silence", () => {
  assert.deepEqual(toolsOf({ toolChoice: "write" }), { tools: ["write"], choice: "required" });
  assert.deepEqual(toolsOf({ toolChoice: "write", allowedTools: [] }), { tools: ["write"], choice: "required" });
  assert.deepEqual(toolsOf({ toolChoice: "gone" }), { tools: [], choice: "required" });
});

test("an effort that no such server knows becomes the next one", () => {
  assert.match(bodyOf({ ...first, settings: { reasoningEffort: "minimal" } }), /"reasoning_effort":"low"/);
});

test("[C5] halves of characters do not reach the server", () => {
  const items: HistoryItem[] = [{ type: "user", parts: ["a\ud800b"] }];
  assert.deepEqual(messagesOf(items), [{ role: "user", content: "a\ufffdb" }]);
});

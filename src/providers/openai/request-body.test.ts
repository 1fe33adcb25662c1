import assert from "node:assert/strict";
import { test } from "node:test";
import { checkResponsesBody } from "../../../testing/fake-openai/request-rules.ts";
import type { HistoryItem } from "../../domain/history.ts";
import type { ModelCall } from "../provider.ts";
import { openaiProvider } from "./openai.ts";

const provider = openaiProvider({ apiKey: "sk-test-0123456789", model: "gpt-5.1" });

/** The exact bytes, which the strict rules take too. */
function bodyOf(call: ModelCall): string {
  const { body } = provider.prepare(call);
  checkResponsesBody(JSON.parse(body));
  return body;
}

const tool = {
  name: "ddr_document",
  description: "Writes a DDR.",
  parameters: { type: "object", properties: {}, additionalProperties: false },
  strict: true,
};
const plainTool = { name: "look-up", parameters: { type: "object" } };
const question: HistoryItem = { type: "user", parts: ["[MODE: ask]\n\n[INSTRUCTION]\nWhere?", "[CONTEXT]\n\n…"] };

const first: ModelCall = {
  model: "gpt-5.1",
  prompt: "You are careful.",
  items: [question],
  previousResponseId: null,
  store: true,
  tools: [tool, plainTool],
  toolChoice: "ddr_document",
  allowedTools: null,
  settings: { temperature: 0.2, maxOutputTokens: 4_000, reasoningEffort: "low" },
};

const front =
  '{"model":"gpt-5.1","store":true,"stream":true,"stream_options":{"include_obfuscation":false},"include":["reasoning.encrypted_content"],"max_output_tokens":4000,"reasoning":{"effort":"low"},' +
  '"tools":[{"type":"function","name":"ddr_document","description":"Writes a DDR.",' +
  '"parameters":{"type":"object","properties":{},"additionalProperties":false},"strict":true},' +
  '{"type":"function","name":"look-up","parameters":{"type":"object"},"strict":false}],"parallel_tool_calls":true,';
const userMessage =
  '{"role":"user","content":[{"type":"input_text","text":"[MODE: ask]\\n\\n[INSTRUCTION]\\nWhere?"},' +
  '{"type":"input_text","text":"[CONTEXT]\\n\\n…"}]}';

test("[E1] [E2] [E4] the first call of a chain, byte for byte", () => {
  assert.equal(
    bodyOf(first),
    `${front}"tool_choice":{"type":"function","name":"ddr_document"},` +
      `"input":[{"role":"system","content":[{"type":"input_text","text":"You are careful."}]},${userMessage}]}`,
  );
});

test("[E1] [E5] a continuation, byte for byte: no system message, the same tools, only what is new", () => {
  const next = { ...first, prompt: null, previousResponseId: "resp_1", toolChoice: null };
  assert.equal(bodyOf(next), `${front}"previous_response_id":"resp_1","input":[${userMessage}]}`);
});

test("[E1] [T8] tool results in a chain, byte for byte", () => {
  const items: HistoryItem[] = [
    { type: "tool_result", callId: "call_1", output: '{"ok":true}' },
    { type: "tool_result", callId: "call_2", output: "failed: no result", isError: true },
  ];
  const next = { ...first, prompt: null, previousResponseId: "resp_2", toolChoice: null, items };
  assert.equal(
    bodyOf(next),
    `${front}"previous_response_id":"resp_2","input":[` +
      '{"type":"function_call_output","call_id":"call_1","output":"{\\"ok\\":true}"},' +
      '{"type":"function_call_output","call_id":"call_2","output":"failed: no result"}]}',
  );
});

const reasoning: HistoryItem = {
  type: "reasoning",
  provider: "openai",
  model: "gpt-5.1-2025-11-13",
  text: "hm",
  opaque: {
    type: "reasoning",
    id: "rs_1",
    summary: [{ type: "summary_text", text: "hm" }],
    encrypted_content: "cipher",
    status: "completed",
  },
};

test("[C1] [C3] a replay without storing, byte for byte: everything by value, no reference", () => {
  const items: HistoryItem[] = [
    question,
    reasoning,
    { type: "assistant", text: "Let me look.", phase: "commentary" },
    { type: "tool_call", callId: "call_1", name: "look-up", arguments: '{"a":' },
    { type: "tool_result", callId: "call_1", output: "4" },
    { type: "assistant", text: "There.", phase: "final_answer" },
    { type: "user", parts: ["And?"] },
  ];
  const { toolChoice: _choice, settings: _settings, ...rest } = first;
  const call: ModelCall = { ...rest, store: false, tools: [], toolChoice: null, settings: {}, items };
  assert.equal(
    bodyOf(call),
    '{"model":"gpt-5.1","store":false,"stream":true,"stream_options":{"include_obfuscation":false},"include":["reasoning.encrypted_content"],"input":[' +
      `{"role":"system","content":[{"type":"input_text","text":"You are careful."}]},${userMessage},` +
      '{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"cipher"},' +
      '{"role":"assistant","content":"Let me look.","phase":"commentary"},' +
      '{"type":"function_call","call_id":"call_1","name":"look-up","arguments":"{\\"a\\":"},' +
      '{"type":"function_call_output","call_id":"call_1","output":"4"},' +
      '{"role":"assistant","content":"There.","phase":"final_answer"},' +
      '{"role":"user","content":[{"type":"input_text","text":"And?"}]}]}',
  );
});

test("[C5] reasoning goes back only to its provider and model family, and only with its ciphertext", () => {
  const answer: HistoryItem = { type: "assistant", text: "There." };
  const droppedOf = (item: HistoryItem, model = "gpt-5.1"): number =>
    provider.prepare({ ...first, model, items: [item, answer, question] }).dropped[0]?.count ?? 0;
  assert.equal(droppedOf(reasoning), 0);
  assert.equal(droppedOf(reasoning, "gpt-5.1-2026-01-01"), 0);
  assert.equal(droppedOf(reasoning, "gpt-5.1-mini"), 1);
  assert.equal(droppedOf({ ...reasoning, provider: "other" }), 1);
  for (const encrypted_content of [null, "", undefined]) {
    assert.equal(droppedOf({ ...reasoning, opaque: { id: "rs_1", summary: [], encrypted_content } }), 1);
  }
  assert.equal(droppedOf({ ...reasoning, opaque: "rs_1" }), 1);
});

test("[C5] [T10] thoughts that led to nothing are left out, and the strict server takes the rest", () => {
  const thought = (id: string): HistoryItem => ({
    type: "reasoning",
    provider: "openai",
    model: "gpt-5.1",
    text: "hm",
    opaque: { id, summary: [], encrypted_content: "cipher" },
  });
  const answer: HistoryItem = { type: "assistant", text: "There." };
  const call: HistoryItem = { type: "tool_call", callId: "c1", name: "look-up", arguments: "{}" };
  const result: HistoryItem = { type: "tool_result", callId: "c1", output: "found" };
  const items = [thought("rs_1"), thought("rs_2"), answer, thought("rs_3"), question];
  const kept = (of: HistoryItem[]): unknown =>
    (JSON.parse(bodyOf({ ...first, items: of })) as { input: { id?: string }[] }).input.flatMap(({ id }) => id ?? []);
  assert.deepEqual(kept(items), ["rs_1", "rs_2"]);
  assert.deepEqual(kept([thought("rs_1"), call, result, thought("rs_2")]), ["rs_1"]);
  assert.equal(provider.prepare({ ...first, items }).dropped[0]?.count, 1);
});

test("[C5] a phase that this provider does not know is not sent", () => {
  const items: HistoryItem[] = [{ type: "assistant", text: "a", phase: "thinking" }, question];
  assert.ok(bodyOf({ ...first, items }).includes('{"role":"assistant","content":"a"}'));
});

function choiceOf(call: Partial<ModelCall>): unknown {
  return (JSON.parse(provider.prepare({ ...first, toolChoice: null, ...call }).body) as Record<string, unknown>)[
    "tool_choice"
  ];
}

test("[E5] a mode narrows the choice and leaves the list as it is", () => {
  const narrowed = { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "look-up" }] };
  assert.deepEqual(choiceOf({ allowedTools: ["look-up", "not there"] }), narrowed);
  assert.equal(choiceOf({ allowedTools: [] }), "none");
  assert.equal(choiceOf({ allowedTools: null }), undefined);
  assert.equal(choiceOf({ allowedTools: ["look-up"], tools: [] }), undefined);
  assert.ok(bodyOf({ ...first, toolChoice: null, allowedTools: ["look-up"] }).startsWith(front));
});

test("[E4] a forced tool is never left out in silence", () => {
  assert.deepEqual(choiceOf({ toolChoice: "gone", tools: [] }), { type: "function", name: "gone" });
  assert.deepEqual(choiceOf({ toolChoice: "look-up", allowedTools: [] }), { type: "function", name: "look-up" });
});

test("settings stay within what the wire takes", () => {
  assert.ok(bodyOf({ ...first, settings: { maxOutputTokens: 1 } }).includes('"max_output_tokens":16'));
  assert.ok(!bodyOf({ ...first, settings: {} }).includes("max_output_tokens"));
});

test("[E8] the key, and what a chain is bound to, shows in no fact of the provider", () => {
  const options = { apiKey: "sk-test-0123456789", model: "m" };
  const accounts = [
    options,
    { ...options, apiKey: "sk-test-0123456780" },
    { ...options, organization: "org-1" },
    { ...options, baseUrl: "http://localhost:1/v1" },
    { ...options, headers: { "openai-project": "proj_1" } },
  ].map((each) => openaiProvider(each).account);
  assert.equal(new Set(accounts).size, accounts.length);
  assert.ok(accounts.every((account) => /^[0-9a-f]{64}$/.test(account)));
  assert.equal(openaiProvider({ ...options, baseUrl: "https://api.openai.com/v1/" }).account, accounts[0]);
});

test("[E8] options that cannot be used are refused without naming the key", () => {
  for (const apiKey of ["", "sk-secret\nx", "sk-secret é"]) {
    assert.throws(
      () => openaiProvider({ apiKey, model: "m" }),
      (error: Error & { code?: string }) => error.code === "config_invalid" && !error.message.includes("sk-secret"),
    );
  }
  for (const baseUrl of ["", "localhost:1", "ftp://localhost/v1"]) {
    assert.throws(() => openaiProvider({ apiKey: "sk-x", model: "m", baseUrl }), { code: "config_invalid" });
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkGenerateBody } from "../../../testing/fake-google/request-rules.ts";
import { sign } from "../../../testing/fake-google/signatures.ts";
import type { HistoryItem } from "../../domain/history.ts";
import type { ModelCall } from "../provider.ts";
import { googleProvider } from "./google.ts";

const provider = googleProvider({ apiKey: "AIza-test-0123456789", model: "gemini-3-flash" });

/** The exact bytes, which the strict rules take too. */
function bodyOf(call: ModelCall): string {
  const { body } = provider.prepare(call);
  checkGenerateBody(JSON.parse(body), call.model);
  return body;
}

const lookUp = { name: "look-up", parameters: { type: "object", properties: {} } };
const write = { name: "write", description: "Writes.", parameters: { type: "object" }, strict: true };
const question: HistoryItem = { type: "user", parts: ["[MODE: ask]\n\n[INSTRUCTION]\nWhere?", "[CONTEXT]\n\n…"] };

const first: ModelCall = {
  model: "gemini-3-flash",
  prompt: "You are careful.",
  items: [question],
  previousResponseId: null,
  store: false,
  tools: [lookUp, write],
  toolChoice: "write",
  allowedTools: null,
  settings: { temperature: 0.2, maxOutputTokens: 4_000, reasoningEffort: "low" },
};

const front =
  '{"generationConfig":{"temperature":0.2,"maxOutputTokens":4000,"thinkingConfig":{"includeThoughts":true,' +
  '"thinkingLevel":"LOW"}},"systemInstruction":{"parts":[{"text":"You are careful."}]},' +
  '"tools":[{"functionDeclarations":[{"name":"look-up","parametersJsonSchema":{"type":"object","properties":{}}},' +
  '{"name":"write","description":"Writes.","parametersJsonSchema":{"type":"object"}}]}],"contents":[';
const asked =
  '{"role":"user","parts":[{"text":"[MODE: ask]\\n\\n[INSTRUCTION]\\nWhere?"},{"text":"[CONTEXT]\\n\\n…"}]}';

test("[E1] [E2] [E4] the first call, byte for byte", () => {
  assert.equal(
    bodyOf(first),
    `${front}${asked}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["write"]}}}`,
  );
});

const plain: ModelCall = { ...first, tools: [], toolChoice: null, settings: {} };

function reasoning(text: string, opaque?: unknown): HistoryItem {
  return {
    type: "reasoning",
    provider: "google",
    model: "gemini-3-flash",
    text,
    ...(opaque !== undefined && { opaque }),
  };
}

test("[C1] [C5] [T8] a replay, byte for byte: signatures on their parts, results in the order of their calls", () => {
  const call = { functionCall: { id: "fc_1", name: "look-up", args: { at: "a" } } };
  const callSignature = sign(call, plain.model);
  const textSignature = sign({ text: "there." }, plain.model);
  const items: HistoryItem[] = [
    question,
    reasoning("hm", { signs: "call", thoughtSignature: callSignature }),
    { type: "tool_call", callId: "fc_1", name: "look-up", arguments: '{"at":"a"}' },
    { type: "tool_call", callId: `call_${"0".repeat(24)}`, name: "write", arguments: "" },
    { type: "tool_result", callId: `call_${"0".repeat(24)}`, output: "no", isError: true },
    { type: "tool_result", callId: "fc_1", output: "4" },
    { type: "assistant", text: "It is there.", phase: "final_answer" },
    reasoning("", { signs: "text", thoughtSignature: textSignature, characters: 6 }),
    { type: "user", parts: ["And?"] },
  ];
  assert.equal(
    bodyOf({ ...plain, items }),
    `{"systemInstruction":{"parts":[{"text":"You are careful."}]},"contents":[${asked},` +
      '{"role":"model","parts":[{"text":"hm","thought":true},' +
      `{"functionCall":{"id":"fc_1","name":"look-up","args":{"at":"a"}},"thoughtSignature":"${callSignature}"},` +
      '{"functionCall":{"name":"write","args":{}}}]},' +
      '{"role":"user","parts":[{"functionResponse":{"id":"fc_1","name":"look-up","response":{"output":"4"}}},' +
      '{"functionResponse":{"name":"write","response":{"error":"no"}}}]},' +
      `{"role":"model","parts":[{"text":"It is "},{"text":"there.","thoughtSignature":"${textSignature}"}]},` +
      '{"role":"user","parts":[{"text":"And?"}]}]}',
  );
});

function contentsOf(items: HistoryItem[], model = plain.model): { role: string; parts: object[] }[] {
  return (JSON.parse(bodyOf({ ...plain, model, items })) as { contents: { role: string; parts: object[] }[] }).contents;
}

const call = (callId: string, args = "{}"): HistoryItem => ({
  type: "tool_call",
  callId,
  name: "write",
  arguments: args,
});
const result = (callId: string): HistoryItem => ({ type: "tool_result", callId, output: "ok" });

test("[C5] calls of another model are taken: the first of each answer says that it has no signature", () => {
  const items = [question, call("toolu_1"), call("toolu_2"), result("toolu_1"), result("toolu_2")];
  const [, later] = contentsOf(items);
  const wire = (id: string): object => ({ functionCall: { id, name: "write", args: {} } });
  const skips = { thoughtSignature: "skip_thought_signature_validator" };
  assert.deepEqual(later?.parts, [{ ...wire("toolu_1"), ...skips }, wire("toolu_2")]);
  const [, earlier] = contentsOf(items, "gemini-2.5-flash");
  assert.deepEqual(earlier?.parts, [wire("toolu_1"), wire("toolu_2")]);
});

test("[T8] arguments that are not an object are sent as a text within one", () => {
  const [, content] = contentsOf([question, call("c1", '{"a": '), result("c1")]);
  const [part] = (content?.parts ?? []) as { functionCall: object }[];
  assert.deepEqual(part?.functionCall, { id: "c1", name: "write", args: { invalid_arguments: '{"a": ' } });
});

test("[C5] roles alternate: neighbours of one role are one content, results before texts", () => {
  const contents = contentsOf([question, call("c1"), result("c1"), question, { type: "user", parts: ["b"] }]);
  assert.deepEqual(
    contents.map(({ role }) => role),
    ["user", "model", "user"],
  );
  assert.deepEqual(
    contents[2]?.parts.map((part) => Object.keys(part)[0]),
    ["functionResponse", "text", "text", "text"],
  );
  const empty = contentsOf([question, { type: "assistant", text: "" }, question]);
  assert.deepEqual(
    empty.map(({ role }) => role),
    ["user"],
  );
});

test("[C5] signed text that came in parts of its own goes back in them", () => {
  const partsOf = (...items: HistoryItem[]): object[] => contentsOf([question, ...items, question])[1]?.parts ?? [];
  const spoken: HistoryItem = { type: "assistant", text: "so" };
  const signed = (signs: "text" | "thought", characters: number, text: string): object => ({
    signs,
    characters,
    thoughtSignature: sign(signs === "text" ? { text } : { text, thought: true }, plain.model),
  });
  const signatureOf = (opaque: object): string => (opaque as { thoughtSignature: string }).thoughtSignature;
  const apart = signed("text", 0, "");
  assert.deepEqual(partsOf(spoken, reasoning("", apart)), [
    { text: "so" },
    { text: "", thoughtSignature: signatureOf(apart) },
  ]);
  const whole = signed("text", 2, "so");
  assert.deepEqual(partsOf(spoken, reasoning("", whole)), [{ text: "so", thoughtSignature: signatureOf(whole) }]);
  const thought = signed("thought", 2, "mm");
  assert.deepEqual(partsOf(reasoning("hm mm", thought), spoken), [
    { text: "hm ", thought: true },
    { text: "mm", thought: true, thoughtSignature: signatureOf(thought) },
    { text: "so" },
  ]);
  assert.deepEqual(partsOf(reasoning("", signed("text", 9, "so")), spoken), [{ text: "so" }]);
  assert.deepEqual(partsOf(reasoning("hm", { signs: "nothing" }), spoken), [
    { text: "hm", thought: true },
    { text: "so" },
  ]);
});

test("[C5] reasoning goes back only to its provider and model family", () => {
  const droppedOf = (item: HistoryItem, model = plain.model): number =>
    provider.prepare({ ...plain, model, items: [question, item, question] }).dropped[0]?.count ?? 0;
  const own = reasoning("hm");
  assert.equal(droppedOf(own), 0);
  assert.equal(droppedOf(own, "gemini-3-pro"), 1);
  assert.equal(droppedOf({ ...own, provider: "other" } as HistoryItem), 1);
});

function configOf(more: Partial<ModelCall>): unknown {
  const body = JSON.parse(provider.prepare({ ...first, toolChoice: null, ...more }).body) as {
    toolConfig?: { functionCallingConfig: unknown };
  };
  return body.toolConfig?.functionCallingConfig;
}

test("[E5] a mode narrows the choice, forces nothing, and leaves the list as it is", () => {
  const narrowed = { mode: "VALIDATED", allowedFunctionNames: ["write"] };
  assert.deepEqual(configOf({ allowedTools: ["write", "not there"] }), narrowed);
  assert.deepEqual(configOf({ allowedTools: [] }), { mode: "NONE" });
  assert.equal(configOf({ allowedTools: null }), undefined);
  assert.equal(configOf({ allowedTools: ["write"], tools: [] }), undefined);
  assert.ok(bodyOf({ ...first, toolChoice: null, allowedTools: ["write"] }).startsWith(front));
});

test("[E4] a forced tool is never left out in silence", () => {
  const forced = { mode: "ANY", allowedFunctionNames: ["gone"] };
  assert.deepEqual(configOf({ toolChoice: "gone", tools: [] }), forced);
  assert.deepEqual(configOf({ toolChoice: "gone", allowedTools: [] }), forced);
});

test("an effort becomes a level, or a budget if the model knows no levels", () => {
  const thinkingOf = (reasoningEffort: "minimal" | "high", model: string): unknown => {
    const body = bodyOf({ ...plain, model, settings: { reasoningEffort } });
    return (JSON.parse(body) as { generationConfig: { thinkingConfig: unknown } }).generationConfig.thinkingConfig;
  };
  const shown = { includeThoughts: true };
  assert.deepEqual(thinkingOf("minimal", "gemini-3-flash"), { ...shown, thinkingLevel: "MINIMAL" });
  assert.deepEqual(thinkingOf("minimal", "gemini-3.1-pro-preview"), { ...shown, thinkingLevel: "LOW" });
  assert.deepEqual(thinkingOf("high", "gemini-2.5-pro"), { ...shown, thinkingBudget: 24_576 });
});

test("[C5] halves of characters do not reach Google, which refuses them", () => {
  const [content] = contentsOf([{ type: "user", parts: ["a\ud800b"] }]);
  assert.deepEqual(content?.parts, [{ text: "a\ufffdb" }]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkConversation } from "../../../testing/fake-anthropic/conversation-rules.ts";
import { type KnownModel, knownModels, rulesOf } from "../../../testing/fake-anthropic/models.ts";
import { checkFields, type MessagesBody } from "../../../testing/fake-anthropic/request-rules.ts";
import { bindingBeta, checkThinking } from "../../../testing/fake-anthropic/thinking-rules.ts";
import type { ModelSettings } from "../../domain/context.ts";
import type { HistoryItem } from "../../domain/history.ts";
import type { ModelCall } from "../provider.ts";
import { anthropicProvider } from "./anthropic.ts";

const provider = anthropicProvider({ apiKey: "k", model: "m" });
const question: HistoryItem = { type: "user", parts: ["Where?"] };
const efforts = [undefined, "none", "minimal", "low", "medium", "high"] as const;

function bodyFor(model: string, effort: ModelSettings["reasoningEffort"], more: Partial<ModelCall> = {}): MessagesBody {
  const settings = { ...more.settings, ...(effort !== undefined && { reasoningEffort: effort }) };
  const { body } = provider.prepare({
    prompt: "Be brief.",
    items: [question],
    previousResponseId: null,
    store: false,
    tools: [{ name: "look", parameters: { type: "object" } }],
    toolChoice: null,
    allowedTools: null,
    ...more,
    model,
    settings,
  });
  const value: unknown = JSON.parse(body);
  checkFields(value);
  checkConversation(value);
  return value;
}

test("[C5] every model takes every effort, also with temperature, small limits and calls of other providers", () => {
  const foreign: HistoryItem[] = [
    question,
    { type: "tool_call", callId: "c1", name: "look", arguments: "{}" },
    { type: "tool_result", callId: "c1", output: "here" },
  ];
  for (const model of knownModels) {
    for (const effort of efforts) {
      for (const maxOutputTokens of [1, 2_000, 4_096, 100_000]) {
        const more = { settings: { temperature: 0.5, maxOutputTokens } };
        checkThinking(bodyFor(model, effort, more), [bindingBeta]);
        checkThinking(bodyFor(model, effort, { ...more, items: foreign }), [bindingBeta]);
      }
    }
  }
});

test("[E4] a tool can be forced wherever the model takes it; elsewhere the provider says that it does not", () => {
  const refused: KnownModel[] = [];
  for (const model of knownModels) {
    for (const effort of efforts) {
      const body = bodyFor(model, effort, { toolChoice: "look" });
      assert.deepEqual(body.tool_choice, { type: "tool", name: "look" });
      if (rulesOf(model).isForcible) checkThinking(body, [bindingBeta]);
      else refused.push(model);
    }
  }
  assert.ok(refused.includes("claude-opus-5-5") && !refused.includes("claude-opus-5"));
});

test("thinking is requested in the form of the model's generation", () => {
  const requested = (model: string, effort?: ModelSettings["reasoningEffort"]): unknown[] => {
    const { thinking, output_config: output } = bodyFor(model, effort);
    return [thinking?.type, thinking?.type === "enabled" ? thinking.budget_tokens : output?.effort];
  };
  assert.deepEqual(requested("claude-haiku-4-5-20251001", "high"), ["enabled", 16_000]);
  assert.deepEqual(requested("claude-haiku-4-5-20251001", "minimal"), ["enabled", 1_024]);
  assert.deepEqual(requested("claude-opus-4-20250514", "low"), ["enabled", 2_048]);
  assert.deepEqual(requested("claude-haiku-4-5"), [undefined, undefined]);
  assert.deepEqual(requested("claude-opus-4-6"), [undefined, undefined]);
  assert.deepEqual(requested("claude-opus-4-8", "minimal"), ["adaptive", "low"]);
  assert.deepEqual(requested("claude-sonnet-5"), ["adaptive", undefined]);
  assert.deepEqual(requested("claude-fable-5-2", "medium"), ["adaptive", "medium"]);
  assert.deepEqual(requested("claude-opus-6"), ["adaptive", undefined]);
  assert.deepEqual(requested("some-other-model"), [undefined, undefined]);
  assert.deepEqual(requested("some-other-model", "high"), ["adaptive", "high"]);
});

test("[C6] models that bind thinking to its conversation are requested to drop what no longer matches", () => {
  for (const model of knownModels) {
    const { thinking } = bodyFor(model, "low");
    const binding = thinking?.type === "adaptive" ? thinking.block_binding?.prefix_mismatch_behavior : undefined;
    assert.equal(binding, rulesOf(model).preservesThinking ? "drop_block" : undefined, model);
  }
});

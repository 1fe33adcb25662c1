/**
 * The fields of a call that decide whether and how much the model thinks. Which of them a model takes depends on its
 * generation, and it answers 400 to the others, so the generation is read from the model's name. A call to a model
 * that is not named like Claude has no such field unless the settings request an effort.
 */
import type {
  BetaThinkingConfigAdaptive,
  BetaThinkingConfigParam,
} from "@anthropic-ai/sdk/resources/beta/messages/messages";
import type { MessageParam, OutputConfig } from "@anthropic-ai/sdk/resources/messages/messages";
import type { ModelSettings } from "../../domain/context.ts";
import type { ModelCall } from "../provider.ts";

export interface ThinkingFields {
  thinking?: BetaThinkingConfigParam;
  output_config?: OutputConfig;
}

type Effort = Exclude<NonNullable<ModelSettings["reasoningEffort"]>, "none">;

/** The lowest effort on the wire is `low`. */
const effortOnWire = { minimal: "low", low: "low", medium: "medium", high: "high" } as const;

/** Budgets in tokens. The wire takes no fewer than 1,024. */
const budgets: Record<Effort, number> = { minimal: 1_024, low: 2_048, medium: 8_192, high: 16_384 };
const budgetMin = 1_024;

/** Checks for models that think within a budget, if a call requests it. They know no effort. */
const isBudgeted = (model: string): boolean => /^claude-(?:3|[a-z]+-4(?:-[015])?(?:-20\d{6})?$)/.test(model);
/** Checks for models that think unless a call disables it. */
const thinksByDefault = (model: string): boolean => /^claude-[a-z]+-5(?:-20\d{6})?$/.test(model);
/** Checks for models that always think, and that verify that nothing before an earlier thinking has changed. */
const preservesThinking = (model: string): boolean => /^claude-[a-z]+-(?:5-[1-9]|[6-9]|[1-9]\d)(?:-|$)/.test(model);

/** Checks for models that think unless a call disables it, and those that take this. */
const canBeStill = (model: string): boolean =>
  /^claude-(?:opus|sonnet|haiku)-5(?:-20\d{6})?$|^claude-(?:sonnet|haiku)-5-5(?:-|$)/.test(model);

/** Requests the text of the thinking, which newer models leave out by default. */
const adaptive: BetaThinkingConfigAdaptive = { type: "adaptive", display: "summarized" };

/**
 * Requests that thinking which no longer matches its conversation is dropped ("preserved thinking"). It no longer
 * matches if the boot prompt or the tools of a session changed, or if a summary replaced older turns (C6). By default
 * the API would refuse that request and every later one.
 */
const preserved: BetaThinkingConfigAdaptive = {
  ...adaptive,
  block_binding: { prefix_mismatch_behavior: "drop_block" },
};

/** `maxTokens` is the limit of the request. It includes thinking. */
export function thinkingFields(call: ModelCall, maxTokens: number, messages: readonly MessageParam[]): ThinkingFields {
  const { model, settings, toolChoice } = call;
  const asked = settings.reasoningEffort;
  if (asked === "none" && canBeStill(model)) return { thinking: { type: "disabled" } };
  const effort = asked === "none" ? leastEffort(model) : asked;
  const isForced = toolChoice !== null;
  if (isBudgeted(model)) {
    return isForced || endsInUnthoughtCalls(messages) ? {} : budgeted(effort, maxTokens);
  }
  const output = effort === undefined ? {} : { output_config: { effort: effortOnWire[effort] } };
  if (preservesThinking(model)) return { thinking: preserved, ...output };
  // A model that thinks cannot be forced to call a tool.
  if (thinksByDefault(model)) return { thinking: isForced ? { type: "disabled" } : adaptive, ...output };
  return effort === undefined || isForced ? output : { thinking: adaptive, ...output };
}

/** Returns the least effort of a model whose thinking cannot be disabled. Undefined: it thinks only if a call requests it. */
function leastEffort(model: string): Effort | undefined {
  return preservesThinking(model) || thinksByDefault(model) ? "minimal" : undefined;
}

/** The budget is at most half of the limit, so that tokens are left for the answer. */
function budgeted(effort: Effort | undefined, maxTokens: number): ThinkingFields {
  const budget = effort === undefined ? 0 : Math.min(budgets[effort], Math.floor(maxTokens / 2));
  return budget < budgetMin ? {} : { thinking: { type: "enabled", budget_tokens: budget } };
}

/**
 * Checks whether the history ends in calls that no thinking came before, because another provider's model made them.
 * A model with a budget must not think then until its next answer.
 */
function endsInUnthoughtCalls(messages: readonly MessageParam[]): boolean {
  const [calls, results] = messages.slice(-2);
  const hasResults = Array.isArray(results?.content) && results.content[0]?.type === "tool_result";
  const first = Array.isArray(calls?.content) ? calls.content[0]?.type : undefined;
  return hasResults && first !== "thinking" && first !== "redacted_thinking";
}

/**
 * What each model supports, according to Anthropic's model pages. tsc fails here when the list of models grows. A model that
 * is not in the list supports everything.
 */
import type { Model } from "@anthropic-ai/sdk/resources/messages/messages";

/** The models that the type lists, without "any other text". */
export type KnownModel = Named<Model>;
type Named<Name> = Name extends string ? (string extends Name ? never : Name) : never;

export interface ModelRules {
  thinking: readonly ("adaptive" | "enabled" | "disabled" | "between_tools")[];
  /** True if the model thinks by default. */
  thinksByDefault: boolean;
  /** True if a request may force a tool. */
  isForcible: boolean;
  hasEffort: boolean;
  /** True if thinking is bound to its prefix. */
  preservesThinking: boolean;
  /** True if a request may begin the answer. */
  takesPrefill: boolean;
}

const newest: ModelRules = {
  thinking: ["adaptive"],
  thinksByDefault: true,
  isForcible: false,
  hasEffort: true,
  preservesThinking: true,
  takesPrefill: false,
};
const five: ModelRules = {
  ...newest,
  thinking: ["adaptive", "disabled"],
  isForcible: true,
  preservesThinking: false,
};
const four: ModelRules = { ...five, thinksByDefault: false };
const fourFive: ModelRules = { ...four, thinking: ["enabled", "disabled"], hasEffort: false, takesPrefill: true };

const rules: Record<KnownModel, ModelRules> = {
  "claude-fable-5-2": newest,
  "claude-mythos-5-2": newest,
  "claude-fable-5-1": newest,
  "claude-mythos-5-1": newest,
  "claude-opus-5-5": newest,
  "claude-sonnet-5-5": { ...newest, thinking: ["adaptive", "disabled", "between_tools"] },
  "claude-haiku-5-5": { ...newest, thinking: ["adaptive", "disabled"] },
  "claude-fable-5": { ...newest, preservesThinking: false },
  "claude-mythos-5": { ...newest, preservesThinking: false },
  "claude-mythos-preview": { ...newest, preservesThinking: false },
  "claude-opus-5": five,
  "claude-sonnet-5": five,
  "claude-opus-4-8": four,
  "claude-opus-4-7": four,
  "claude-opus-4-6": { ...four, thinking: ["adaptive", "enabled", "disabled"] },
  "claude-sonnet-4-6": { ...four, thinking: ["adaptive", "enabled", "disabled"] },
  "claude-opus-4-5": { ...fourFive, hasEffort: true },
  "claude-opus-4-5-20251101": { ...fourFive, hasEffort: true },
  "claude-sonnet-4-5": fourFive,
  "claude-sonnet-4-5-20250929": fourFive,
  "claude-haiku-4-5": fourFive,
  "claude-haiku-4-5-20251001": fourFive,
};

export const knownModels = Object.keys(rules) as KnownModel[];

const unknownModel: ModelRules = {
  ...four,
  thinking: ["adaptive", "enabled", "disabled", "between_tools"],
  takesPrefill: true,
};

export function rulesOf(model: string): ModelRules {
  return (rules as Record<string, ModelRules>)[model] ?? unknownModel;
}

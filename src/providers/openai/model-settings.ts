/**
 * Which settings OpenAI's models take (G3). A model refuses the whole request for a setting that it does not take, so
 * that setting is left out. A name that is not known here gets every setting: it may be that of another server.
 */
import type { ModelSettings } from "../../domain/context.ts";
import type { ModelCall } from "../provider.ts";
import { settingNotes, type SettingName } from "../setting-notes.ts";

type Effort = NonNullable<ModelSettings["reasoningEffort"]>;
type Summary = NonNullable<ModelSettings["reasoningSummary"]>;

/** The wire refuses a smaller limit. */
export const outputTokensMin = 16;

const reasons = (model: string): boolean => /^(?:o\d|gpt-[5-9])/.test(model) && !/chat/.test(model);
/** Models that do not reason unless a call requests it. Only then do they take a temperature, or `top_p`. */
const reasonsOnRequest = (model: string): boolean => /^gpt-5\.[12](?:-|$)/.test(model);
const isOlder = (model: string): boolean => /^(?:gpt-3|gpt-4|chatgpt-4)/.test(model);
const takesVerbosity = (model: string): boolean => /^gpt-[5-9]/.test(model) && !/chat/.test(model);
/** Only the first models of the fifth generation know the effort `minimal`. */
const takesMinimal = (model: string): boolean => !reasons(model) || isFirstFifth(model);
const isFirstFifth = (model: string): boolean => /^gpt-5(?:-|$)/.test(model);
/** Models after GPT-5 can leave the reasoning out, but for those that are made for it. */
const takesNone = (model: string): boolean => {
  return !reasons(model) || /^gpt-(?:5\.[1-9]|[6-9])(?!.*(?:pro|codex))/.test(model);
};
/** The first models that reason have no short summary. */
const takesConcise = (model: string): boolean => !/^o\d/.test(model) && !isFirstFifth(model);

/** Returns the settings that the model of a call does not take. */
export function untaken({ model, settings }: ModelCall): SettingName[] {
  const { reasoningEffort = reasonsOnRequest(model) ? "none" : undefined } = settings;
  const isFree = !reasons(model) || (reasoningEffort === "none" && takesNone(model));
  return [
    // The Responses API has no such field.
    "stop",
    ...(isFree ? [] : (["temperature", "topP"] as const)),
    ...(isOlder(model) ? (["reasoningEffort", "reasoningSummary"] as const) : []),
    ...(isOlder(model) || (reasons(model) && !takesVerbosity(model)) ? (["verbosity"] as const) : []),
  ];
}

/** Returns the nearest effort that the model takes. */
export function effortFor(model: string, effort: Effort): Effort {
  const nearest = effort === "none" && !takesNone(model) ? "minimal" : effort;
  return nearest === "minimal" && !takesMinimal(model) ? "low" : nearest;
}

/** Returns the nearest summary that the model takes. */
export function summaryFor(model: string, summary: Summary): Summary {
  return summary === "concise" && !takesConcise(model) ? "auto" : summary;
}

/** Returns a text for each setting that the model of a call does not take as it is. */
export function adjustedSettings(call: ModelCall): string[] {
  const { model, settings } = call;
  const { maxOutputTokens = outputTokensMin, reasoningEffort, reasoningSummary } = settings;
  // A model that does not reason does what `none` asks for.
  const leftOut = untaken(call).filter((name) => name !== "reasoningEffort" || reasoningEffort !== "none");
  const effort = isOlder(model) || reasoningEffort === undefined ? reasoningEffort : effortFor(model, reasoningEffort);
  const isAuto = !isOlder(model) && reasoningSummary === "concise" && !takesConcise(model);
  const replaced = {
    ...(maxOutputTokens < outputTokensMin && { maxOutputTokens: String(outputTokensMin) }),
    ...(effort !== undefined && effort !== reasoningEffort && { reasoningEffort: effort }),
    ...(isAuto && { reasoningSummary: "auto" }),
  };
  return settingNotes({ model, settings, leftOut, replaced });
}

/**
 * Which settings OpenAI's models take (G3). A model refuses the whole request for a setting that it does not take, so
 * that setting is left out. A name that is not known here gets every setting: it may be that of another server.
 */
import type { ModelSettings } from "../../domain/context.ts";
import type { ModelCall } from "../provider.ts";
import { settingNotes, type SettingName } from "../setting-notes.ts";

type Effort = NonNullable<ModelSettings["reasoningEffort"]>;

/** The wire refuses a smaller limit. */
export const outputTokensMin = 16;

const reasons = (model: string): boolean => /^(?:o\d|gpt-[5-9])/.test(model) && !/chat/.test(model);
/** Models that do not reason unless a call requests it. Only then do they take a temperature, or `top_p`. */
const reasonsOnRequest = (model: string): boolean => /^gpt-5\.[12](?:-|$)/.test(model);
const isOlder = (model: string): boolean => /^(?:gpt-3|gpt-4|chatgpt-4)/.test(model);
const takesVerbosity = (model: string): boolean => /^gpt-[5-9]/.test(model) && !/chat/.test(model);
/** Only the first models of the fifth generation know the effort `minimal`. */
const takesMinimal = (model: string): boolean => !reasons(model) || /^gpt-5(?:-|$)/.test(model);

/** Returns the settings that the model of a call does not take. */
export function untaken({ model, settings }: ModelCall): SettingName[] {
  const isFree = !reasons(model) || (reasonsOnRequest(model) && settings.reasoningEffort === undefined);
  return [
    // The Responses API has no such field.
    "stop",
    ...(isFree ? [] : (["temperature", "topP"] as const)),
    ...(isOlder(model) ? (["reasoningEffort"] as const) : []),
    ...(isOlder(model) || (reasons(model) && !takesVerbosity(model)) ? (["verbosity"] as const) : []),
  ];
}

/** Returns the nearest effort that the model takes. */
export function effortFor(model: string, effort: Effort): Effort {
  return effort === "minimal" && !takesMinimal(model) ? "low" : effort;
}

/** Returns a text for each setting that the model of a call does not take as it is. */
export function adjustedSettings(call: ModelCall): string[] {
  const { model, settings } = call;
  const { maxOutputTokens = outputTokensMin, reasoningEffort } = settings;
  const leftOut = untaken(call);
  const isMinimal = reasoningEffort === "minimal" && effortFor(model, "minimal") !== "minimal";
  const replaced = {
    ...(maxOutputTokens < outputTokensMin && { maxOutputTokens: String(outputTokensMin) }),
    ...(isMinimal && !leftOut.includes("reasoningEffort") && { reasoningEffort: "low" }),
  };
  return settingNotes({ model, settings, leftOut, replaced });
}

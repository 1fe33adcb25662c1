/** The texts about settings that a model cannot take (G3). Each driver decides which these are. */
import type { ModelSettings } from "../domain/context.ts";

/** The settings that reach a driver, with their names for people. */
const names = {
  temperature: "temperature",
  topP: "top_p",
  maxOutputTokens: "output limit",
  reasoningEffort: "reasoning effort",
  reasoningSummary: "reasoning summary",
  verbosity: "verbosity",
  answerFormat: "form of the answer",
  stop: "text to stop at",
  parallelToolCalls: "limit to one tool call at a time",
} as const;
export type SettingName = keyof typeof names;

export interface SettingNotes {
  model: string;
  settings: ModelSettings;
  /** The settings that are left out. */
  leftOut: readonly SettingName[];
  /** The values that replace others, by their settings. */
  replaced?: Partial<Record<SettingName, string>>;
}

/** Returns one text for each setting that was requested and does not reach the model as it is. */
export function settingNotes({ model, settings, leftOut, replaced = {} }: SettingNotes): string[] {
  const without = leftOut.filter((name) => settings[name] !== undefined);
  const others = (Object.keys(replaced) as SettingName[]).filter((name) => settings[name] !== undefined);
  return [
    ...without.map((name) => `${model} takes no ${names[name]}, so it was not sent`),
    ...others.map((name) => `${model} takes no ${names[name]} of ${settings[name]}, so ${replaced[name]} was sent`),
  ];
}

/** The commands that a person may have meant who typed only the last word of a command (L1). */
import type { Command } from "commander";
import { describeCommand, everyCommand } from "./described-commands.ts";

const suggestedMax = 3;

/** Returns the commands whose last word is the typed one, for example `aptove config init` for `init`. */
export function commandsThatEndIn(program: Command, typed: string): string[] {
  const all = everyCommand(describeCommand(program));
  const same = all.filter(({ path }) => path.length > 2 && path.at(-1) === typed);
  return same.slice(0, suggestedMax).map(({ path }) => path.join(" "));
}

/** What Tab completes: a command of the chat, or the path of a file after `@`. */
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";

export interface LineCompletion {
  /** How many characters before the cursor the text replaces. */
  replaces: number;
  text: string;
  /** All texts that fit, if there are several. */
  choices: string[];
}

export interface CompletionSource {
  /** The names of commands, with their slashes. */
  commands: readonly string[];
  /** The folder that paths after `@` are relative to. */
  folder: string;
  /** Returns what can follow a command. */
  choices?(command: string): readonly string[];
}

const choicesMax = 40;

/** Completes the text before the cursor. Null if nothing fits. `folder` is what paths are relative to. */
export function complete(before: string, { commands, folder, choices }: CompletionSource): LineCompletion | null {
  const argument = /^(\/\S+)[ ]+(\S*)$/.exec(before);
  const following = argument === null ? [] : (choices?.(argument[1] ?? "") ?? []);
  if (argument !== null && following.length > 0) {
    const typed = argument[2] ?? "";
    return ofChoices(
      typed,
      following.filter((words) => words.startsWith(typed)),
      " ",
    );
  }
  if (/^\/\S*$/.test(before))
    return ofChoices(
      before,
      commands.filter((name) => name.startsWith(before)),
      " ",
    );
  const mention = /(?:^|\s)@("?)([^\s"]*|(?<=@")[^"]*)$/.exec(before);
  if (mention === null) return null;
  const [, quote = "", path = ""] = mention;
  const paths = pathsFrom(folder, path);
  const asTyped = paths.map((found) => (quote === "" && /\s/.test(found) ? `"${found}` : `${quote}${found}`));
  return ofChoices(quote + path, asTyped, quote === "" ? " " : '" ');
}

function ofChoices(typed: string, choices: readonly string[], end: string): LineCompletion | null {
  const [first] = choices;
  if (first === undefined) return null;
  const only = choices.length === 1;
  const text = only && !first.endsWith("/") ? `${first}${first.startsWith('"') ? '" ' : end}` : commonStart(choices);
  return { replaces: typed.length, text, choices: only ? [] : choices.slice(0, choicesMax) };
}

function commonStart(texts: readonly string[]): string {
  const [first = "", ...others] = texts;
  let length = first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length);
}

/**
 * Returns the paths that begin with the typed text. Folders end with a slash. Hidden files are listed only if the dot
 * was typed.
 */
function pathsFrom(folder: string, typed: string): string[] {
  const slash = typed.lastIndexOf("/");
  const [within, start] = [typed.slice(0, slash + 1), typed.slice(slash + 1)];
  try {
    return readdirSync(join(folder, within === "" ? "." : dirname(`${within}x`)), { withFileTypes: true })
      .filter(
        ({ name }) => name.startsWith(start) && (start.startsWith(".") || !name.startsWith(".")) && name !== ".git",
      )
      .map((entry) => `${within}${entry.name}${entry.isDirectory() ? "/" : ""}`)
      .toSorted();
  } catch {
    // There is no such folder, so nothing fits.
    return [];
  }
}

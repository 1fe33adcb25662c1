/**
 * Path patterns as in .gitignore: `*` and `?` within a name, `**` for any folders, `[a-z]`, `{a,b}`. A pattern without a
 * slash matches a name in any folder. The model writes the pattern, and it is tried on every file. So matching takes time
 * proportional to path length times pattern length, whatever the pattern.
 */
import { limits } from "../../domain/limits.ts";
import { ToolFault } from "../tool-fault.ts";

const alternativesMax = 64;

/** One part of a pattern between slashes, as a list of its letters. Null is `**`. */
type Step = Letter[] | null;
type Letter = { is: "any" } | { is: "run" } | { is: "one"; letter: string } | { is: "set"; set: RegExp };

/** Returns a test for relative paths with forward slashes. Throws a ToolFault for a pattern that is not valid. */
export function globFilter(pattern: string): (path: string) => boolean {
  if (pattern.length > limits.globCharactersMax) {
    throw new ToolFault(`the glob has ${pattern.length} characters; it may have ${limits.globCharactersMax}`);
  }
  const plain = pattern.replace(/^\.?\/+/, "");
  const anywhere = plain.replace(/\/+$/, "").includes("/") ? plain : `**/${plain}`;
  const alternatives = braced(anywhere.endsWith("/") ? `${anywhere}**` : anywhere).map((each) => stepsOf(each));
  return (path) => {
    const names = path.split("/");
    return alternatives.some((steps) => fitsPath(steps, names));
  };
}

/** Expands `{a,b}` into one pattern for each alternative. */
function braced(pattern: string): string[] {
  const done: string[] = [];
  const open = [pattern];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const group = /\{([^{}]*)\}/.exec(each);
    if (group === null || !group[1]?.includes(",")) done.push(each);
    else for (const part of group[1].split(",")) open.push(each.replace(group[0], () => part));
    if (done.length + open.length > alternativesMax) {
      throw new ToolFault(`the glob expands to more than ${alternativesMax} patterns; use fewer braces`);
    }
  }
  return done;
}

function stepsOf(pattern: string): Step[] {
  const steps = pattern
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    // Two `**` in a row match the same paths as one.
    .filter((name, at, names) => name !== "**" || names[at - 1] !== "**")
    .map((name) => (name === "**" ? null : lettersOf(name)));
  // A `**` at the end matches the content of the folder, not the folder's own name.
  return steps.at(-1) === null ? [...steps, lettersOf("*")] : steps;
}

function lettersOf(name: string): Letter[] {
  const letters: Letter[] = [];
  for (const [token, set] of name.matchAll(/\*+|\[([!^]?\]?[^\]]*)\]|\\?[^]/gu)) {
    if (token.startsWith("*")) letters.push({ is: "run" });
    else if (token === "?") letters.push({ is: "any" });
    else if (set !== undefined) letters.push({ is: "set", set: setOf(set, token) });
    else letters.push({ is: "one", letter: token.length > 1 && token.startsWith("\\") ? token.slice(1) : token });
  }
  return letters;
}

function setOf(inside: string, token: string): RegExp {
  const escaped = inside.replace(/^[!^]/, "").replace(/[\\\]^]/g, "\\$&");
  try {
    return new RegExp(`^[${/^[!^]/.test(inside) ? "^" : ""}${escaped}]$`, "u");
  } catch {
    throw new ToolFault(`the glob has ${token}, which is not a valid set of letters`);
  }
}

/** Follows the steps that can be reached after each name. `**` may match any number of names. */
function fitsPath(steps: readonly Step[], names: readonly string[]): boolean {
  let reached = past(steps, new Set([0]));
  for (const name of names) {
    const next = new Set<number>();
    for (const at of reached) {
      const step = steps[at];
      if (step === undefined) continue;
      if (step === null) next.add(at);
      else if (fitsName(step, name)) next.add(at + 1);
    }
    if (next.size === 0) return false;
    reached = past(steps, next);
  }
  return reached.has(steps.length);
}

/** Adds the steps after each reached `**`, because `**` may also match no name. */
function past(steps: readonly Step[], reached: Set<number>): Set<number> {
  for (const at of reached) if (steps[at] === null) reached.add(at + 1);
  return reached;
}

/** Matches one name. Backtracks only to the last `*`: it can match everything that an earlier one could match in addition. */
function fitsName(letters: readonly Letter[], name: string): boolean {
  const given = [...name];
  let [at, in_] = [0, 0];
  let [runAt, runIn] = [-1, 0];
  while (in_ < given.length) {
    const letter = letters[at];
    if (letter?.is === "run") {
      [runAt, runIn] = [at, in_];
      at++;
    } else if (letter !== undefined && fitsLetter(letter, given[in_] ?? "")) {
      at++;
      in_++;
    } else if (runAt >= 0) {
      at = runAt + 1;
      in_ = ++runIn;
    } else {
      return false;
    }
  }
  return letters.slice(at).every(({ is }) => is === "run");
}

function fitsLetter(letter: Letter, given: string): boolean {
  if (letter.is === "one") return letter.letter === given;
  return letter.is === "any" || (letter.is === "set" && letter.set.test(given));
}

/**
 * Patterns of paths as in .gitignore: `*` and `?` within a name, `**` for any folders, `[a-z]`, `{a,b}`. A pattern
 * without a slash fits a name in any folder. The time that a match takes grows with path times pattern and never
 * explodes, whatever the pattern: it is the model's word, and it is tried on every file.
 */
import { limits } from "../../domain/limits.ts";
import { ToolFault } from "../tool-fault.ts";

const alternativesMax = 64;

/** Null fits one step of `**`; a name is a list of its letters. */
type Step = Letter[] | null;
type Letter = { is: "any" } | { is: "run" } | { is: "one"; letter: string } | { is: "set"; set: RegExp };

/** Throws a ToolFault for a pattern that is none. Paths are relative, with forward slashes. */
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

/** `{a,b}` written out. */
function braced(pattern: string): string[] {
  const done: string[] = [];
  const open = [pattern];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const group = /\{([^{}]*)\}/.exec(each);
    if (group === null || !group[1]?.includes(",")) done.push(each);
    else for (const part of group[1].split(",")) open.push(each.replace(group[0], () => part));
    if (done.length + open.length > alternativesMax) {
      throw new ToolFault(`the glob stands for more than ${alternativesMax} patterns; use fewer braces`);
    }
  }
  return done;
}

function stepsOf(pattern: string): Step[] {
  const steps = pattern
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    // Two of `**` in a row say no more than one.
    .filter((name, at, names) => name !== "**" || names[at - 1] !== "**")
    .map((name) => (name === "**" ? null : lettersOf(name)));
  // At the end it fits what is in the folder, not the folder's own name.
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
    throw new ToolFault(`the glob has ${token}, which is no set of letters`);
  }
}

/** Which steps can be reached after each name; `**` may take any number of names. */
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

/** `**` may also take no name. */
function past(steps: readonly Step[], reached: Set<number>): Set<number> {
  for (const at of reached) if (steps[at] === null) reached.add(at + 1);
  return reached;
}

/** Goes back only to the last `*`: what an earlier one could take more of, this one can too. */
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

/** Parses JSON of clients. An error names the position of the first fault. The depth is limited, so that deep nesting cannot crash the process. */
import { AptoveError } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";

/** Parses JSON. Throws `request_invalid`; `what` names the text in the detail. */
export function parseJson(text: string, what: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const position = jsonFaultAt(text);
    const before = text.slice(0, position).split("\n");
    const lineAndColumn = `line ${before.length} column ${(before.at(-1) ?? "").length + 1}`;
    const found = position >= text.length ? "it ends too early" : `unexpected ${JSON.stringify(text[position])}`;
    const detail = `${what} is not JSON: ${found} at position ${position} (${lineAndColumn})`;
    throw new AptoveError("request_invalid", detail, { facts: { position } });
  }
  if (isDeeperThan(value, limits.jsonDepthMax)) {
    throw new AptoveError("request_invalid", `${what} is nested deeper than ${limits.jsonDepthMax} levels`);
  }
  return value;
}

function isDeeperThan(value: unknown, depthMax: number): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > depthMax) return true;
    level = level.flatMap((one) => Object.values(one).filter(isContainer));
  }
  return false;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** What the parser expects next. `first`: an object's first key, a list's first value, or the closing bracket. `after`: a comma or the closing bracket. */
type Expected = "value" | "first" | "key" | "colon" | "after";

const tokenPattern =
  /[ \t\n\r]*(?:(true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])|([[\]{},:"])|)/y;

/**
 * Returns the position where a text stops being JSON: its first token that is not allowed there, or its end. Only for texts
 * that are not JSON. The messages of `JSON.parse` name a position for some faults only.
 */
export function jsonFaultAt(text: string): number {
  /** The expected kind of the next token. The stack `open` has the closing brackets of all open objects and lists. */
  let expected: Expected = "value";
  const open: string[] = [];
  let at = 0;
  for (;;) {
    tokenPattern.lastIndex = at;
    const token = tokenPattern.exec(text);
    const found = token?.[1] === undefined ? (token?.[2] ?? "") : "value";
    const start = at + (token?.[0].length ?? 0) - (token?.[1] ?? found).length;
    if (found === "" || !fits(found, expected, open)) return start;
    at = start + (token?.[1] ?? found).length;
    if (found === '"') {
      const end = stringEnd(text, at);
      if (end.isFault) return end.at;
      at = end.at;
    }
    expected = next(found, expected, open);
  }
}

function fits(found: string, expected: Expected, open: readonly string[]): boolean {
  switch (expected) {
    case "value":
      return found === "value" || found === '"' || found === "{" || found === "[";
    case "first":
      return found === open.at(-1) || (open.at(-1) === "}" ? found === '"' : fits(found, "value", open));
    case "key":
      return found === '"';
    case "colon":
      return found === ":";
    case "after":
      return open.length > 0 && (found === "," || found === open.at(-1));
  }
}

function next(found: string, expected: Expected, open: string[]): Expected {
  if (found === "{" || found === "[") {
    open.push(found === "{" ? "}" : "]");
    return "first";
  }
  if (found === ":") return "value";
  if (found === ",") return open.at(-1) === "}" ? "key" : "value";
  if (found === "}" || found === "]") {
    open.pop();
    return "after";
  }
  const isKey = found === '"' && (expected === "key" || (expected === "first" && open.at(-1) === "}"));
  return isKey ? "colon" : "after";
}

/** Returns the position after the closing quote, or of the character that a string must not contain. */
function stringEnd(text: string, start: number): { at: number; isFault: boolean } {
  for (let at = start; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '"') return { at: at + 1, isFault: false };
    if (character < " ") return { at, isFault: true };
    if (character === "\\") {
      const escape = /^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.exec(text.slice(at + 1, at + 6));
      const isBrokenOff = /^(?:u[0-9a-fA-F]{0,3})?$/.test(text.slice(at + 1, at + 6));
      if (escape === null) return { at: isBrokenOff ? text.length : at, isFault: true };
      at += escape[0].length;
    }
  }
  return { at: text.length, isFault: true };
}

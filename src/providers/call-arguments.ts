/** The arguments of tool calls in the history, for wires that refuse a call whose arguments are not an object. */
import { isRecord } from "../system/guards.ts";

/**
 * The name for arguments of a model that are not an object. With it the model can see its mistake, and the history stays
 * complete.
 */
const invalidName = "invalid_arguments";

/**
 * Returns the arguments that a model wrote as an object for `JSON.stringify`. An empty text means no arguments. Numbers
 * keep the digits that were written, because JavaScript's own cannot hold all of them. Texts have only whole characters,
 * because wires refuse halves.
 */
export function argumentsObject(text: string): Record<string, unknown> {
  return parsedObject(text) ?? (text.trim() === "" ? {} : { [invalidName]: text });
}

/** Returns the same as JSON text. If the model wrote an object, it is exactly the text that the model wrote. */
export function argumentsJson(text: string): string {
  return parsedObject(text) === null ? JSON.stringify(argumentsObject(text)) : text;
}

/** Checks whether a model's arguments are whole, that is, the JSON text of an object. */
export function isObjectText(text: string): boolean {
  return parsedObject(text) !== null;
}

/** These functions are in the language, but not yet in TypeScript's types. */
const exact = JSON as JSON & { rawJSON(text: string): object; isRawJSON(value: unknown): boolean };

function parsedObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text, asSendable);
    return isObject(value) ? value : null;
  } catch {
    // A model may write anything.
    return null;
  }
}

function asSendable(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value === "number") {
    const written = context?.source ?? String(value);
    return written === String(value) ? value : exact.rawJSON(written);
  }
  if (typeof value === "string") return value.toWellFormed();
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name.toWellFormed(), inner]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && !exact.isRawJSON(value);
}

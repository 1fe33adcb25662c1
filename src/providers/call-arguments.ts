/** The arguments of tool calls in history, for wires that refuse a call whose arguments are not an object. */
import { isRecord } from "../system/guards.ts";

/** Under this name goes what a model wrote that is none: it can see its mistake, and the history stays whole. */
const invalidName = "invalid_arguments";

/**
 * `text` is what the model wrote; empty stands for no arguments. The object is for `JSON.stringify`: its numbers
 * keep the digits that were written, which JavaScript's own do not all hold, and its texts are whole characters,
 * for halves are refused.
 */
export function argumentsObject(text: string): Record<string, unknown> {
  return parsedObject(text) ?? (text.trim() === "" ? {} : { [invalidName]: text });
}

/** The same as JSON text: byte for byte what the model wrote, where that is an object. */
export function argumentsJson(text: string): string {
  return parsedObject(text) === null ? JSON.stringify(argumentsObject(text)) : text;
}

/** Whether a model's arguments are whole: the JSON text of an object. */
export function isObjectText(text: string): boolean {
  return parsedObject(text) !== null;
}

/** In the language, and not yet in its types. */
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

/** The arguments of tool calls: their schema, and those of the history for wires that refuse a call whose arguments are not an object. */
import { isRecord } from "../system/guards.ts";

/**
 * The name for arguments of a model that are not an object. With it the model can see its mistake, and the history stays
 * complete.
 */
const invalidName = "invalid_arguments";

/** OpenAI and Anthropic refuse the whole request if the schema of one tool has these keywords at its top. */
const choices = ["allOf", "anyOf", "oneOf", "enum", "not"];

/**
 * Returns the schema of a tool without choices at its top, and with the arguments of all of them. Choices only say which arguments go
 * together, and the tool checks that itself.
 */
export function withoutTopChoices(schema: Record<string, unknown>): Record<string, unknown> {
  if (!choices.some((keyword) => keyword in schema)) return schema;
  const { allOf, anyOf, oneOf } = schema;
  const branches = [allOf, anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  const properties = [...branches, schema].map((at) =>
    isRecord(at) && isRecord(at["properties"]) ? at["properties"] : {},
  );
  const others = Object.entries(schema).filter(([keyword]) => !choices.includes(keyword));
  return { ...Object.fromEntries(others), properties: Object.assign({}, ...properties) as Record<string, unknown> };
}

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

/**
 * The JSON text of an object that comes in pieces. Each character is looked at once, so a server that asks at every piece
 * whether the object is whole does not make a long one take the square of its length.
 */
export class ObjectPieces {
  text = "";
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  /** The place at which the first value ends. Null: it has not ended yet. */
  #end: number | null = null;
  #endsWhole: boolean | null = null;

  add(piece: string): void {
    if (this.#end === null) this.#end = this.#endIn(piece);
    else if (piece.trim() !== "") this.#endsWhole = false;
    this.text += piece;
  }

  /** True if the pieces so far are the JSON text of an object. */
  get isWhole(): boolean {
    if (this.#end === null) return false;
    return (this.#endsWhole ??= isObjectText(this.text));
  }

  /** Returns where in the joined text the object ends. What is no JSON ends anywhere, and is judged when it is whole. */
  #endIn(piece: string): number | null {
    for (let at = 0; at < piece.length; at += 1) {
      const character = piece[at];
      if (this.#isInText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (character === "\\") this.#isEscaped = true;
        else if (character === '"') this.#isInText = false;
      } else if (character === '"') this.#isInText = true;
      else if (character === "{" || character === "[") this.#depth += 1;
      else if (character === "}" || character === "]") {
        this.#depth -= 1;
        if (this.#depth <= 0) return this.text.length + at + 1;
      }
    }
    return null;
  }
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

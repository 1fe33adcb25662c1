/**
 * The parameters of a tool in one table: the JSON Schema that the model is given, and the check of what it sends,
 * come from the same entries, so that they cannot say different things.
 */
import { distance } from "fastest-levenshtein";
import { ToolFault } from "./tool-fault.ts";

interface TextParameter {
  type: "string";
  about: string;
  isOptional: boolean;
  mayBeEmpty: boolean;
}

interface WholeParameter {
  type: "integer";
  about: string;
  isOptional: boolean;
  min: number;
  max: number;
}

interface FlagParameter {
  type: "boolean";
  about: string;
  isOptional: boolean;
}

export type Parameter = TextParameter | WholeParameter | FlagParameter;
export type Parameters = Record<string, Parameter>;

interface ValueTypes {
  string: string;
  integer: number;
  boolean: boolean;
}

/** What a call brings, once it is checked; undefined: it was left out. */
export type Values<P extends Parameters> = {
  [K in keyof P]: ValueTypes[P[K]["type"]] | (P[K]["isOptional"] extends true ? undefined : never);
};

export function text(about: string): TextParameter & { isOptional: false } {
  return { type: "string", about, isOptional: false, mayBeEmpty: false };
}

/** A text that may be empty: the content of a file. */
export function anyText(about: string): TextParameter & { isOptional: false } {
  return { type: "string", about, isOptional: false, mayBeEmpty: true };
}

export function whole(about: string, range: { min: number; max?: number }): WholeParameter & { isOptional: false } {
  return { type: "integer", about, isOptional: false, min: range.min, max: range.max ?? Number.MAX_SAFE_INTEGER };
}

export function flag(about: string): FlagParameter & { isOptional: false } {
  return { type: "boolean", about, isOptional: false };
}

export function optional<P extends Parameter>(parameter: P): Omit<P, "isOptional"> & { isOptional: true } {
  return { ...parameter, isOptional: true };
}

/** Small: its tokens are paid for with every model call. */
export function parametersSchema(parameters: Parameters): Record<string, unknown> {
  const entries = Object.entries(parameters);
  const properties = entries.map(([name, parameter]) => [name, propertySchema(parameter)] as const);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: entries.filter(([, { isOptional }]) => !isOptional).map(([name]) => name),
    additionalProperties: false,
  };
}

function propertySchema(parameter: Parameter): Record<string, unknown> {
  const schema: Record<string, unknown> = { type: parameter.type, description: parameter.about };
  if (parameter.type === "integer") {
    schema["minimum"] = parameter.min;
    if (parameter.max < Number.MAX_SAFE_INTEGER) schema["maximum"] = parameter.max;
  }
  return schema;
}

/** Throws a ToolFault that names every fault. Null stands for left out: some models send it for what they do not use. */
export function takeValues<P extends Parameters>(parameters: P, args: Record<string, unknown>): Values<P> {
  const known = Object.keys(parameters);
  const faults = Object.keys(args)
    .filter((name) => !known.includes(name))
    .map((name) => unknownFault(name, known));
  const values: Record<string, unknown> = {};
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = args[name] ?? undefined;
    const fault = valueFault(parameter, value);
    if (fault !== null) faults.push(`"${name}" ${fault}`);
    values[name] = value;
  }
  if (faults.length > 0) throw new ToolFault(faults.join("; "));
  return values as Values<P>;
}

function unknownFault(name: string, known: readonly string[]): string {
  const nearest = known.toSorted((a, b) => closeness(name, a) - closeness(name, b))[0] ?? "";
  return `there is no argument "${name.slice(0, 64)}"; did you mean "${nearest}"? The arguments are: ${known.join(", ")}`;
}

/** `file_path` is nearer to `path` than to anything of its own length. */
function closeness(name: string, known: string): number {
  return name.includes(known) ? 0 : distance(name.slice(0, 64), known);
}

function valueFault(parameter: Parameter, value: unknown): string | null {
  if (value === undefined) return parameter.isOptional ? null : "is missing";
  if (parameter.type === "string") {
    if (typeof value !== "string") return `must be a text, and is ${kindOf(value)}`;
    if (!parameter.mayBeEmpty && value === "") return "is empty";
    if (!value.isWellFormed()) return "is not valid Unicode: it has half of a surrogate pair";
    return null;
  }
  if (parameter.type === "boolean") {
    return typeof value === "boolean" ? null : `must be true or false, and is ${kindOf(value)}`;
  }
  const { min, max } = parameter;
  const range = max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `from ${min}`;
  if (typeof value !== "number") return `must be a whole number ${range}, and is ${kindOf(value)}`;
  const fits = Number.isSafeInteger(value) && value >= min && value <= max;
  return fits ? null : `must be a whole number ${range}, and is ${value}`;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? `the text ${JSON.stringify(value.slice(0, 40))}` : JSON.stringify(value);
}

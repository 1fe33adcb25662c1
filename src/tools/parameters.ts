/**
 * The parameters of a tool as one zod schema. Both the JSON Schema for the model and the check of the model's arguments
 * come from it, so they always agree.
 */
import { distance } from "fastest-levenshtein";
import * as z from "zod";
import { toDotPath } from "zod/v4/core";
import { faultWords } from "../domain/fault-words.ts";
import { ToolFault } from "./tool-fault.ts";

export interface ToolParameters<P extends z.ZodRawShape> {
  jsonSchema(): Record<string, unknown>;
  /** Returns the checked arguments. An argument that was left out is undefined. Throws a ToolFault that names every fault. */
  parse(args: Record<string, unknown>): ArgumentValues<P>;
}

export type ArgumentValues<P extends z.ZodRawShape> = z.output<z.ZodObject<P, z.core.$strict>>;

/** The most faults in one message. The model pays for every word of it. */
const faultsMax = 20;

/**
 * Makes the schema from its fields on first use, and keeps it. Most commands run no tool, and making a schema takes about
 * a millisecond.
 */
export function toolParameters<P extends z.ZodRawShape>(fields: () => P): ToolParameters<P> {
  let schema: z.ZodObject<P, z.core.$strict> | null = null;
  let json: Record<string, unknown> | null = null;
  const made = (): z.ZodObject<P, z.core.$strict> => (schema ??= z.strictObject(fields()));
  return {
    jsonSchema: () => (json ??= jsonSchemaOf(made())),
    parse: (args) => parsed(made(), args),
  };
}

/** Returns a parameter for text that is not empty. */
export function textArgument(about: string): z.ZodString {
  return contentArgument(about)
    .refine((text) => text !== "", "is empty")
    .describe(about);
}

/** Returns a parameter for text that may be empty, such as the content of a file. */
export function contentArgument(about: string): z.ZodString {
  const fault = "is not valid Unicode: it has half of a surrogate pair";
  return z
    .string()
    .refine((text) => text.isWellFormed(), fault)
    .describe(about);
}

/** Returns a parameter for a whole number within a range. */
export function wholeArgument(about: string, { min, max }: { min: number; max?: number }): z.ZodInt {
  const range = max === undefined ? `from ${min}` : `from ${min} to ${max}`;
  const error = ({ input }: { input?: unknown }): string | undefined =>
    input === undefined ? undefined : `must be a whole number ${range}, but is ${kindOf(input)}`;
  const number = z.int({ error }).min(min, { error });
  return (max === undefined ? number : number.max(max, { error })).describe(about);
}

/** Returns the JSON Schema without the parts that cost tokens and inform the model of nothing: the dialect, and the bounds of every whole number. */
function jsonSchemaOf(schema: z.ZodObject): Record<string, unknown> {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, {
    override: ({ jsonSchema }) => {
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return json;
}

function parsed<S extends z.ZodObject>(schema: S, args: Record<string, unknown>): z.output<S> {
  const result = schema.safeParse(withoutNulls(schema, args), { error: argumentWords });
  if (result.success) return result.data;
  const faults = result.error.issues.flatMap((issue) => faultsOf(schema, issue));
  throw new ToolFault(faults.slice(0, faultsMax).join("; "));
}

/** Removes null arguments: some models send null for a parameter that they do not use. */
function withoutNulls(schema: z.ZodObject, args: Record<string, unknown>): Record<string, unknown> {
  const isUnused = ([name, value]: [string, unknown]): boolean => value === null && Object.hasOwn(schema.shape, name);
  return Object.fromEntries(Object.entries(args).filter((entry) => !isUnused(entry)));
}

function faultsOf(schema: z.ZodObject, issue: z.core.$ZodIssue): string[] {
  if (issue.code !== "unrecognized_keys") return [`"${toDotPath(issue.path)}" ${issue.message}`];
  return issue.keys.slice(0, faultsMax).map((name) => unknownFault(name, Object.keys(schema.shape)));
}

function unknownFault(name: string, known: readonly string[]): string {
  const nearest = known.toSorted((a, b) => closeness(name, a) - closeness(name, b))[0] ?? "";
  return `there is no argument "${name.slice(0, 64)}"; did you mean "${nearest}"? The arguments are: ${known.join(", ")}`;
}

/** Returns the distance between two names. A name that contains the known one has distance 0, so `file_path` is nearest to `path`. */
function closeness(name: string, known: string): number {
  return name.includes(known) ? 0 : distance(name.slice(0, 64), known);
}

/** Returns the message for a fault that has no message in the schema. */
function argumentWords(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined) return "is missing";
  const expected = expectedOf(issue);
  return expected === null ? faultWords(issue) : `must be ${expected}, but is ${kindOf(issue.input)}`;
}

function expectedOf(issue: z.core.$ZodRawIssue): string | null {
  if (issue.code === "invalid_value") return `one of ${issue.values.join(", ")}`;
  if (issue.code !== "invalid_type") return null;
  return typeWords[issue.expected] ?? null;
}

const typeWords: Partial<Record<z.core.$ZodInvalidTypeExpected, string>> = {
  string: "a text",
  boolean: "true or false",
  array: "a list",
  object: "an object",
};

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "string" ? `the text ${JSON.stringify(value.slice(0, 40))}` : JSON.stringify(value);
}

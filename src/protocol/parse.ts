/** Checks a value from outside against its schema, and refuses a value that does not match with all its faults. */
import { closest } from "fastest-levenshtein";
import * as z from "zod";
import { AptoveError, type ErrorCode } from "../domain/errors.ts";
import { faultWords } from "../domain/fault-words.ts";

/** One fault of a request, as the `faults` of the problem list it. */
export interface FieldFault {
  /** The field, for example `activeFiles[0].path`. Empty for the whole value. */
  field: string;
  /** What is wrong, as words that follow the field: `is missing`. */
  message: string;
}

const faultsMax = 20;

/**
 * Returns the value in the schema's output form. Throws `request_invalid`, or the code that `codes` has for the
 * top-level field of the first fault. For example, a wrong tool is `tool_invalid` (E4).
 */
export function parseWithSchema<S extends z.ZodType>(
  schema: S,
  value: unknown,
  codes: Readonly<Record<string, ErrorCode>> = {},
): z.output<S> {
  const result = schema.safeParse(value, { error: faultWords });
  if (result.success) return result.data;
  const { issues } = result.error;
  const faults = issues.flatMap((issue) => faultsOf(schema, issue)).slice(0, faultsMax);
  const code = codes[String(issues[0]?.path[0] ?? "")] ?? "request_invalid";
  const detail = faults.map(({ field, message }) => `${field === "" ? "the request" : field} ${message}`).join("; ");
  throw new AptoveError(code, detail, { facts: { faults } });
}

function faultsOf(schema: z.ZodType, issue: z.core.$ZodIssue): FieldFault[] {
  if (issue.code !== "unrecognized_keys") return [{ field: fieldName(issue.path), message: issue.message }];
  const known = knownFields(schema, issue.path);
  return issue.keys.map((key) => ({
    field: fieldName([...issue.path, key]),
    message: known.length === 0 ? "is not known" : `is not known; the nearest known field is "${closest(key, known)}"`,
  }));
}

function fieldName(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === "number" ? `[${part}]` : `${index === 0 ? "" : "."}${String(part)}`))
    .join("");
}

/** Returns the fields of the object at a path of a schema. */
function knownFields(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let at: unknown = schema;
  for (const part of path) {
    const inner = unwrapped(at);
    if (inner instanceof z.ZodArray) at = inner.element;
    else if (inner instanceof z.ZodObject) at = inner.shape[String(part)];
    else return [];
  }
  const inner = unwrapped(at);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

function unwrapped(schema: unknown): unknown {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? unwrapped(schema.unwrap()) : schema;
}

/**
 * The parts that all schemas of an export file share. The engine reads the file itself, because an import must refuse
 * faults in it at every door. So this room is an edge of the program, and may use zod.
 */
import * as z from "zod";
import { faultWords } from "../../domain/fault-words.ts";
import { isId, timeMax } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { isRecord } from "../../system/guards.ts";

type Plain<T> = T extends object ? { -readonly [K in keyof T]: Plain<T[K]> } : T;
type IsSame<A, B> = (<X>() => X extends Plain<A> ? 1 : 2) extends <X>() => X extends Plain<B> ? 1 : 2 ? true : false;

/**
 * Returns the schema. The compiler refuses a schema whose values are not exactly those of `T`: a field that is added to
 * `T`, an optional one too, and a member that is added to a union, must be added to the schema.
 */
export function exactly<T>() {
  return <S extends z.ZodType>(schema: S & (IsSame<z.output<S>, T> extends true ? unknown : never)): S => schema;
}

export const uuid = z.string().refine(isId, "is not an id");

export const wholeFromZero = z
  .number()
  .refine((value) => Number.isSafeInteger(value) && value >= 0, "is not a whole number from 0");

/** A time in milliseconds since the epoch. Lists of sessions write it in ISO 8601, so one without that form is refused. */
export const time = z
  .number()
  .refine(
    (value) => Number.isSafeInteger(value) && value >= 0 && value <= timeMax,
    "is not a time in milliseconds between the years 1970 and 9999",
  );

/** A number that fits into the integer column of every database. */
export const wholeFromOne = z
  .number()
  .refine((value) => Number.isInteger(value) && value >= 1 && value < 2 ** 31, "is not a whole number from 1");

export const sha256Hex = z.string().refine((value) => /^[0-9a-f]{64}$/.test(value), "is not a SHA-256 in hexadecimal");

/** Text that every database accepts in a column. */
export const fieldText = z
  .string()
  .refine(
    (value) => value.length <= limits.fieldCharactersMax && value.isWellFormed() && !value.includes("\u0000"),
    `is not text of at most ${limits.fieldCharactersMax} characters without NUL and lone surrogates`,
  );

const tooDeep = `is nested deeper than ${limits.jsonDepthMax}`;

/** Any value of JSON that is not nested too deep to be walked through. */
export const shallowJson = z.unknown().refine(isShallow, tooDeep);

function isShallow(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limits.jsonDepthMax) return false;
    level = level.flatMap((inner) => (typeof inner === "object" && inner !== null ? Object.values(inner) : []));
  }
  return true;
}

/**
 * Like `z.array`, but it ends at the first bad element. A line may have millions of elements, and `z.array` would make an
 * issue for each bad one.
 */
export function list<S extends z.ZodType>(element: S) {
  return z
    .custom<z.output<S>[]>(Array.isArray, "is not a list")
    .superRefine((elements, context) => checkEach(element, elements.entries(), context));
}

export function nonEmptyList<S extends z.ZodType>(element: S) {
  const isNonEmpty = (value: unknown): boolean => Array.isArray(value) && value.length > 0;
  return z
    .custom<[z.output<S>, ...z.output<S>[]]>(isNonEmpty, "is not a list with an element")
    .superRefine((elements, context) => checkEach(element, elements.entries(), context));
}

/** Like `z.record` with any names, but it ends at the first bad value, as `list` does. */
export function byName<S extends z.ZodType>(value: S) {
  return z
    .custom<Record<string, z.output<S>>>(isRecord, "is not an object")
    .superRefine((values, context) => checkEach(value, Object.entries(values), context));
}

export const jsonObject = z
  .custom<Record<string, unknown>>(isRecord, "is not an object")
  .refine(isShallow, { error: tooDeep, abort: true });

function checkEach(
  schema: z.ZodType,
  entries: Iterable<[string | number, unknown]>,
  context: z.core.$RefinementCtx,
): void {
  for (const [key, input] of entries) {
    const result = schema.safeParse(input, { error: faultWords });
    if (result.success) continue;
    const { path, message } = firstFault(result.error);
    context.addIssue({ code: "custom", path: [key, ...path], message, input });
    return;
  }
}

export type SchemaResult<T> = { value: T } | { fault: string };

/**
 * Checks a value against its schema. The value is returned as it is, and not as a copy: it is what the file's hashes were
 * made over. A fault names the field by its path below `at`, and has nothing of the value in it.
 */
export function checkedValue<S extends z.ZodType>(schema: S, value: unknown, at: string): SchemaResult<z.output<S>> {
  const result = schema.safeParse(value, { error: faultWords });
  if (result.success) return { value: value as z.output<S> };
  const { path, message } = firstFault(result.error);
  const field = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return { fault: `${at}${field} ${message}` };
}

function firstFault({ issues }: z.ZodError): { path: PropertyKey[]; message: string } {
  const [issue] = issues;
  if (issue === undefined) return { path: [], message: "is wrong" };
  const path = issue.code === "unrecognized_keys" ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path;
  return { path, message: issue.message };
}

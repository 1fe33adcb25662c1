/**
 * The forms of what is read from a file. A shape tells where a value is not of its type; that it follows the type is
 * checked by the compiler, so a field that is added to a type must be added here.
 */
import { isId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { isRecord } from "../../system/guards.ts";

/** What is wrong with a value, with its place, or null when it is a `T`. */
export interface Shape<T> extends Check {
  readonly of?: (value: T) => T;
}
export type Check = (value: unknown, at: string) => string | null;

type OptionalKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T];

/** Exactly these fields. */
export function fields<T extends object>(
  required: { [K in Exclude<keyof T, OptionalKeys<T>>]: Shape<T[K]> },
  optional: { [K in OptionalKeys<T>]: Shape<Exclude<T[K], undefined>> },
): Shape<T> {
  const needed: [string, Check][] = Object.entries(required);
  const known = new Map<string, Check>([...needed, ...Object.entries<Check>(optional)]);
  return (value, at) => {
    if (!isRecord(value)) return `${at} is not an object`;
    const absent = needed.find(([name]) => !Object.hasOwn(value, name));
    if (absent !== undefined) return `${at}.${absent[0]} is missing`;
    for (const [name, content] of Object.entries(value)) {
      const shape = known.get(name);
      if (shape === undefined) return `${at}.${name} is not known`;
      const fault = shape(content, `${at}.${name}`);
      if (fault !== null) return fault;
    }
    return null;
  };
}

/** One of several objects, told apart by the text in a field. */
export function variants<T extends object, F extends keyof T & string>(
  field: F,
  shapes: { [K in T[F] & string]: Shape<Extract<T, Record<F, K>>> },
): Shape<T> {
  const known = new Map(Object.entries<Check>(shapes));
  return (value, at) => {
    if (!isRecord(value)) return `${at} is not an object`;
    const shape = known.get(String(value[field]));
    return shape === undefined ? `${at}.${field} is none of ${[...known.keys()].join(", ")}` : shape(value, at);
  };
}

export function when<T>(what: string, holds: (value: unknown) => boolean): Shape<T> {
  return (value, at) => (holds(value) ? null : `${at} is not ${what}`);
}

export const text = when<string>("text", (value) => typeof value === "string");
export const flag = when<boolean>("true or false", (value) => typeof value === "boolean");
export const number = when<number>("a number", (value) => Number.isFinite(value));
export const count = when<number>(
  "a whole number from 0",
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);
/** What fits into the integer column of every database. */
export const ordinal = when<number>(
  "a whole number from 1",
  (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) < 2 ** 31,
);
export const id = when<string>("an id", (value) => typeof value === "string" && isId(value));
export const hash = when<string>(
  "a SHA-256 in hexadecimal",
  (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value),
);
/** Text that every database takes in a column. */
export const plainText = when<string>(
  `text of at most ${limits.fieldCharactersMax} characters without NUL and lone surrogates`,
  (value) =>
    typeof value === "string" &&
    value.length <= limits.fieldCharactersMax &&
    value.isWellFormed() &&
    !value.includes("\u0000"),
);

export function literal<T extends string | number>(expected: T): Shape<T> {
  return when(JSON.stringify(expected), (value) => value === expected);
}

export function oneOf<T extends string>(all: Record<T, true>): Shape<T> {
  return when(
    `one of ${Object.keys(all).join(", ")}`,
    (value) => typeof value === "string" && Object.hasOwn(all, value),
  );
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return (value, at) => (value === null ? null : shape(value, at));
}

export function list<T>(shape: Shape<T>): Shape<T[]> {
  return (value, at) => {
    if (!Array.isArray(value)) return `${at} is not a list`;
    for (const [index, content] of value.entries()) {
      const fault = shape(content, `${at}[${index}]`);
      if (fault !== null) return fault;
    }
    return null;
  };
}

export function listOfSome<T>(shape: Shape<T>): Shape<[T, ...T[]]> {
  return (value, at) => (Array.isArray(value) && value.length === 0 ? `${at} is empty` : list(shape)(value, at));
}

export function record<T>(shape: Shape<T>): Shape<Record<string, T>> {
  return (value, at) => (isRecord(value) ? list(shape)(Object.values(value), at) : `${at} is not an object`);
}

/** Anything that JSON can say and that is not nested too deep to be walked through. */
export const json: Shape<unknown> = (value, at) => {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limits.jsonDepthMax) return `${at} is nested deeper than ${limits.jsonDepthMax}`;
    level = level.flatMap((inner) => (typeof inner === "object" && inner !== null ? Object.values(inner) : []));
  }
  return null;
};

export const jsonObject: Shape<Record<string, unknown>> = (value, at) =>
  isRecord(value) ? json(value, at) : `${at} is not an object`;

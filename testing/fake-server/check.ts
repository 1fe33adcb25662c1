/** The parts of a strict validator that do not depend on how a provider words its refusals. */

/** Throws the fake's refusal, which names `at`, the path of the value. */
export type Check = (value: unknown, at: string) => void;

export const anything: Check = () => {};

export function nullable(check: Check): Check {
  return (value, at) => {
    if (value !== null) check(value, at);
  };
}

export function textOr(check: Check): Check {
  return (value, at) => {
    if (typeof value !== "string") check(value, at);
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the path of a field. The path of the whole body is empty. */
export function fieldPath(at: string, name: string): string {
  return at === "" ? name : `${at}.${name}`;
}

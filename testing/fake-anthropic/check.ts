/**
 * A small strict validator with Anthropic's error messages: the path of the first fault, and the expected value. An
 * `object` lists every field that Anthropic's type has, so tsc fails when the type has grown.
 */
import { type Check, fieldPath, isObject } from "../fake-server/check.ts";
import { Refusal } from "./refusal.ts";

export const text: Check = (value, at) => {
  if (typeof value !== "string") throw fault(at, "Input should be a valid string");
};

export const flag: Check = (value, at) => {
  if (typeof value !== "boolean") throw fault(at, "Input should be a valid boolean");
};

export const record: Check = (value, at) => {
  if (!isObject(value)) throw fault(at, "Input should be a valid dictionary");
};

export function integer({ min }: { min: number }): Check {
  return (value, at) => {
    if (!Number.isInteger(value)) throw fault(at, "Input should be a valid integer");
    if ((value as number) < min) throw fault(at, `Input should be greater than or equal to ${min}`);
  };
}

export function matching(pattern: RegExp): Check {
  return (value, at) => {
    text(value, at);
    if (!pattern.test(value as string)) throw fault(at, `String should match pattern '${pattern.source}'`);
  };
}

export function oneOf(...values: readonly string[]): Check {
  return (value, at) => {
    if (values.includes(value as string)) return;
    const quoted = values.map((each) => `'${each}'`);
    const last = quoted.pop();
    throw fault(at, `Input should be ${quoted.length === 0 ? "" : `${quoted.join(", ")} or `}${last}`);
  };
}

export function listOf(check: Check): Check {
  return (value, at) => {
    if (!Array.isArray(value)) throw fault(at, "Input should be a valid list");
    value.forEach((item, index) => check(item, `${at}.${index}`));
  };
}

/** Checks an object with these fields and no others. Missing fields are reported before unknown ones. */
export function object<T>(
  fields: { [Field in keyof Required<T>]: Check },
  required: readonly (keyof T & string)[],
): Check {
  return (value, at) => {
    if (!isObject(value)) throw fault(at, "Input should be a valid dictionary");
    for (const name of required) {
      if (value[name] === undefined) throw fault(fieldPath(at, name), "Field required");
    }
    for (const [name, field] of Object.entries(value)) {
      if (!Object.hasOwn(fields, name)) throw fault(fieldPath(at, name), "Extra inputs are not permitted");
      fields[name as keyof typeof fields](field, fieldPath(at, name));
    }
  };
}

/** Chooses the check by `type`, whose value becomes part of the path. The error for an unknown type lists the known ones. */
export function byType(checks: Record<string, Check>): Check {
  return (value, at) => {
    if (!isObject(value)) throw fault(at, "Input should be a valid dictionary");
    const { type } = value;
    if (type === undefined) throw fault(`${at}.type`, "Field required");
    const check = typeof type === "string" && Object.hasOwn(checks, type) ? checks[type] : undefined;
    if (check === undefined) {
      const tags = Object.keys(checks).map((tag) => `'${tag}'`);
      const expected = `does not match any of the expected tags: ${tags.join(", ")}`;
      throw fault(at, `Input tag '${String(type)}' found using 'type' ${expected}`);
    }
    check(value, `${at}.${String(type)}`);
  };
}

export function fault(at: string, what: string): Refusal {
  return new Refusal(`${at}: ${what}`);
}

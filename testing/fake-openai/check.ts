/**
 * A small strict validator with OpenAI's error messages: the first fault, with the path of the parameter and
 * the code. An `object` lists every field that OpenAI's type has, so tsc fails when the type has grown.
 */
import { type Check, fieldPath, isObject } from "../fake-server/check.ts";
import { dataUrlFault } from "../media-rules.ts";
import { Refusal } from "./refusal.ts";

export const text: Check = (value, at) => {
  if (typeof value !== "string") throw wrongType(value, at, "a string");
};

export const flag: Check = (value, at) => {
  if (typeof value !== "boolean") throw wrongType(value, at, "a boolean");
};

export const record: Check = (value, at) => {
  if (!isObject(value)) throw wrongType(value, at, "an object");
};

export function integer({ min }: { min: number }): Check {
  return (value, at) => {
    if (!Number.isInteger(value)) throw wrongType(value, at, "an integer");
    if ((value as number) < min) {
      const message = `Invalid '${at}': integer below minimum value. Expected a value >= ${min}, but got ${String(value)} instead.`;
      throw new Refusal(message, { param: at, code: "integer_below_min_value" });
    }
  };
}

export function decimal({ min, max }: { min: number; max: number }): Check {
  return (value, at) => {
    if (typeof value !== "number") throw wrongType(value, at, "a decimal");
    if (value >= min && value <= max) return;
    const [side, bound, code] =
      value < min
        ? ["below minimum value", `>= ${min}`, "decimal_below_min_value"]
        : ["above maximum value", `<= ${max}`, "decimal_above_max_value"];
    const message = `Invalid '${at}': decimal ${side}. Expected a value ${bound}, but got ${value} instead.`;
    throw new Refusal(message, { param: at, code });
  };
}

export function oneOf(...values: readonly string[]): Check {
  return (value, at) => {
    if (typeof value !== "string") throw wrongType(value, at, `one of ${list(values)}`);
    if (!values.includes(value)) throw unsupported(value, at, values);
  };
}

export function listOf(check: Check): Check {
  return (value, at) => {
    if (!Array.isArray(value)) throw wrongType(value, at, "an array");
    value.forEach((item, index) => check(item, `${at}[${index}]`));
  };
}

/** Checks an object with these fields and no others. Missing fields are reported before unknown ones. */
export function object<T>(
  fields: { [Field in keyof Required<T>]: Check },
  required: readonly (keyof T & string)[],
): Check {
  return (value, at) => {
    if (!isObject(value)) throw wrongType(value, at, "an object");
    for (const name of required) {
      if (value[name] !== undefined) continue;
      const param = fieldPath(at, name);
      throw new Refusal(`Missing required parameter: '${param}'.`, { param, code: "missing_required_parameter" });
    }
    for (const [name, field] of Object.entries(value)) {
      const param = fieldPath(at, name);
      if (!Object.hasOwn(fields, name)) {
        throw new Refusal(`Unknown parameter: '${param}'.`, { param, code: "unknown_parameter" });
      }
      fields[name as keyof typeof fields](field, param);
    }
  };
}

/** Chooses the check by `type`. The error for an unknown type lists the known ones. */
export function byType(checks: Record<string, Check>): Check {
  return (value, at) => {
    if (!isObject(value)) throw wrongType(value, at, "an object");
    const param = `${at}.type`;
    const { type } = value;
    if (type === undefined) {
      throw new Refusal(`Missing required parameter: '${param}'.`, { param, code: "missing_required_parameter" });
    }
    if (typeof type !== "string" || !Object.hasOwn(checks, type)) throw unsupported(type, param, Object.keys(checks));
    checks[type]?.(value, at);
  };
}

function unsupported(value: unknown, at: string, values: readonly string[]): Refusal {
  const message = `Invalid value: '${String(value)}'. Supported values are: ${list(values)}.`;
  return new Refusal(message, { param: at, code: "invalid_value" });
}

function list(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  if (quoted.length < 2) return quoted.join("");
  const [last, ...front] = quoted.toReversed();
  return `${front.toReversed().join(", ")}${quoted.length > 2 ? "," : ""} and ${last}`;
}

function wrongType(value: unknown, at: string, expected: string): Refusal {
  const message = `Invalid type for '${at}': expected ${expected}, but got ${nameOf(value)} instead.`;
  return new Refusal(message, { param: at, code: "invalid_type" });
}

function nameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  switch (typeof value) {
    case "string":
      return "a string";
    case "boolean":
      return "a boolean";
    case "number":
      return Number.isInteger(value) ? "an integer" : "a decimal";
    default:
      return "an object";
  }
}

/** Checks a `data:` address with content of one of these types. */
export function dataUrl(taken: readonly string[]): Check {
  return (value, at) => {
    const wrong = dataUrlFault(value, taken);
    if (wrong !== null) throw new Refusal(`Invalid '${at}': ${wrong}.`, { code: "invalid_value", param: at });
  };
}

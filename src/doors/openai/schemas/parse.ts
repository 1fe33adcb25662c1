/** Checks a value of a client, and names the parameter of the first fault as OpenAI does: `input[0].content[0].type`. */
import * as z from "zod";
import { faultWords } from "../../../domain/fault-words.ts";
import { badParameter } from "../wire-error.ts";

/** Returns the value in the form of the schema. Throws `request_invalid` with the parameter; `at` is the path of the value. */
export function parseWire<S extends z.ZodType>(schema: S, value: unknown, at = ""): z.output<S> {
  const result = schema.safeParse(value, { error: faultWords });
  if (result.success) return result.data;
  throw faultOf(result.error, value, at);
}

function faultOf({ issues }: z.ZodError, value: unknown, at: string): Error {
  const issue = deepest(issues);
  const param = parameterOf(issue.path, at);
  const isMissing = issue.code === "invalid_type" && valueAt(value, issue.path) === undefined;
  if (isMissing) return badParameter(param, `Missing required parameter: '${param}'.`, "missing_required_parameter");
  const code = issue.code === "invalid_type" ? "invalid_type" : "invalid_value";
  return badParameter(param === "" ? null : param, `Invalid value for '${param}': it ${issue.message}.`, code);
}

/** A fault in one form of a value that has several is the one that got furthest. */
function deepest(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue {
  const [first] = issues;
  if (first?.code !== "invalid_union") return first ?? { code: "custom", path: [], message: "is not valid" };
  const inner = first.errors.map(deepest).toSorted((one, other) => other.path.length - one.path.length)[0];
  return inner === undefined ? first : { ...inner, path: [...first.path, ...inner.path] };
}

function parameterOf(path: readonly PropertyKey[], at: string): string {
  return path.reduce<string>((name, part) => {
    if (typeof part === "number") return `${name}[${part}]`;
    return name === "" ? String(part) : `${name}.${String(part)}`;
  }, at);
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, part) => (inner as Record<PropertyKey, unknown> | undefined)?.[part], value);
}

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
  const code = isMissing ? "missing_required_parameter" : issue.code === "invalid_type" ? issue.code : "invalid_value";
  // The body itself is no parameter, and has no name.
  if (param === "") return badParameter(null, `The body ${isMissing ? missingBody : issue.message}.`, code);
  if (isMissing) return badParameter(param, `Missing required parameter: '${param}'.`, code);
  return badParameter(param, `Invalid value for '${param}': it ${issue.message}.`, code);
}

const missingBody = "is missing; send an object of JSON";

/** A fault in one form of a value that has several is the one that got furthest: in the form of the right type, if there is one. */
function deepest(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue {
  const [first] = issues;
  if (first?.code !== "invalid_union") return first ?? { code: "custom", path: [], message: "is not valid" };
  const inner = first.errors.map(deepest).toSorted((one, other) => reach(other) - reach(one))[0];
  return inner === undefined ? first : { ...inner, path: [...first.path, ...inner.path] };
}

/** Returns how far a fault got. Of two at one place, a wrong type was noticed before anything else. */
function reach({ path, code }: z.core.$ZodIssue): number {
  return path.length + (code === "invalid_type" ? 0 : 0.5);
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

/** Words for the faults that a schema finds in a value from outside. Each follows the name of its field: `name is missing`. */

/** What zod says of a fault, as far as these words need it. The domain knows no library of schemas. */
export interface SchemaIssue {
  readonly code?: string | undefined;
  readonly input?: unknown;
  readonly expected?: unknown;
  readonly values?: unknown;
  readonly options?: unknown;
  readonly origin?: unknown;
  readonly format?: unknown;
  readonly inclusive?: unknown;
  readonly minimum?: unknown;
  readonly maximum?: unknown;
}

/** Returns the words for a fault for which a schema has none of its own. They have nothing of the value in them. */
export function faultWords(issue: SchemaIssue): string {
  if (issue.input === undefined) return "is missing";
  switch (issue.code) {
    case "invalid_type":
      return `is not ${typeWords[String(issue.expected)] ?? `a value of the type ${String(issue.expected)}`}`;
    case "unrecognized_keys":
      return "is not known";
    case "invalid_value":
      return noneOf(issue.values);
    case "invalid_union":
      return Array.isArray(issue.options) ? noneOf(issue.options) : "has none of its forms";
    case "too_small":
      return boundWords(issue, issue.minimum);
    case "too_big":
      return boundWords(issue, issue.maximum);
    case "invalid_format":
      return `is not ${formatWords[String(issue.format)] ?? "in the form that is expected"}`;
    default:
      return "is not valid";
  }
}

function noneOf(values: unknown): string {
  const known = Array.isArray(values) ? values.map(String) : [];
  return known.length === 1 ? `is not ${known[0]}` : `is none of ${known.join(", ")}`;
}

const units: Partial<Record<string, string>> = { string: "character", array: "element" };

/** Returns that a value is below its minimum or above its maximum, and what it must keep to. */
function boundWords({ code, origin, inclusive }: SchemaIssue, bound: unknown): string {
  const isBelow = code === "too_small";
  const unit = units[String(origin)];
  const limit = inclusive === false ? (isBelow ? "more than" : "less than") : isBelow ? "at least" : "at most";
  if (unit === undefined) return `is too ${isBelow ? "small" : "large"}; it must be ${limit} ${String(bound)}`;
  const counted = `${String(bound)} ${unit}${Number(bound) === 1 ? "" : "s"}`;
  return `is too ${isBelow ? "short" : "long"}; it must have ${limit} ${counted}`;
}

const typeWords: Partial<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

const formatWords: Partial<Record<string, string>> = {
  uuid: "a UUID",
  url: "an address",
  email: "an email address",
  datetime: "a time of ISO 8601",
  date: "a date of ISO 8601",
  base64: "base64",
};

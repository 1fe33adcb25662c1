/**
 * Finds what a provider would refuse in the schema of a tool (P5). Providers check each schema against the rules of JSON Schema,
 * and refuse the whole request because of one tool. Only these rules are checked here: a schema is not compiled, because a server
 * could make that take any time.
 */
import { isRecord } from "../../system/guards.ts";

type Schema = Record<string, unknown>;
type Check = (value: unknown) => boolean;

const typeNames = ["string", "number", "integer", "boolean", "object", "array", "null"];

const isType: Check = (value) => typeof value === "string" && typeNames.includes(value);
const isText: Check = (value) => typeof value === "string";
const isFlag: Check = (value) => typeof value === "boolean";
const isNumber: Check = (value) => typeof value === "number";
const isCount: Check = (value) => Number.isInteger(value) && Number(value) >= 0;
const isList: Check = (value) => Array.isArray(value);
const isTextList: Check = (value) => Array.isArray(value) && value.every(isText);

/** What the value of a keyword must be. Keywords that are not here may have any value. */
const checks = new Map<string, Check>([
  ["type", (value) => isType(value) || (Array.isArray(value) && value.length > 0 && value.every(isType))],
  ["required", isTextList],
  ["dependentRequired", (value) => isRecord(value) && Object.values(value).every(isTextList)],
  ...every(["enum", "examples"], isList),
  ...every(["$schema", "$id", "$ref", "$anchor", "$comment", "title", "description", "pattern", "format"], isText),
  ...every(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], isNumber),
  ["multipleOf", (value) => typeof value === "number" && value > 0],
  ...every(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"], isCount),
  ...every(["minContains", "maxContains"], isCount),
  ...every(["uniqueItems", "deprecated", "readOnly", "writeOnly"], isFlag),
]);

/** Keywords whose value is a schema, a list of schemas, or an object with schemas as its values. */
const singles = new Set([
  ...["items", "additionalItems", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"],
  ...["unevaluatedItems", "unevaluatedProperties"],
]);
const lists = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const maps = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

function every(keywords: readonly string[], check: Check): [string, Check][] {
  return keywords.map((keyword) => [keyword, check]);
}

/** Returns what is wrong with the schema, in words that follow the names of tools. Null if nothing is. Its depth must be limited. */
export function schemaFault(root: Schema): string | null {
  const found: Found = { schemas: [], keyword: null };
  collect(root, found);
  if (found.keyword !== null) return `have a schema with an invalid ${found.keyword}`;
  // A reference is relative to the schema with an id around it. Any of them may be meant.
  const bases = [root, ...found.schemas.filter((schema) => "$id" in schema)];
  const ids = bases.flatMap(({ $id }) => (typeof $id === "string" ? [$id.replace(/#$/, "")] : []));
  const anchors = new Set(found.schemas.map(({ $anchor }) => $anchor));
  const resolves = ({ $ref }: Schema): boolean => {
    if (typeof $ref !== "string") return true;
    const [base = "", fragment = ""] = $ref.split("#", 2);
    // What is elsewhere is never loaded, and a schema may name it.
    if (base !== "" && !ids.some((id) => id === base || id.endsWith(`/${base}`))) return URL.canParse(base);
    if (fragment !== "" && !fragment.startsWith("/")) return anchors.has(fragment) || ids.includes(`#${fragment}`);
    return bases.some((schema) => pointsTo(schema, fragment));
  };
  return found.schemas.every(resolves) ? null : "have a schema with a $ref to nothing in it";
}

interface Found {
  schemas: Schema[];
  /** The first keyword with an invalid value. */
  keyword: string | null;
}

function collect(schema: unknown, found: Found): void {
  if (typeof schema === "boolean" || !isRecord(schema)) return;
  found.schemas.push(schema);
  for (const [keyword, value] of Object.entries(schema)) {
    const children = childrenOf(keyword, value);
    const isValid = (checks.get(keyword)?.(value) ?? true) && children !== null && children.every(isSchema);
    if (!isValid) found.keyword ??= keyword;
    else for (const child of children) collect(child, found);
  }
}

/** Returns the schemas in the value of a keyword. Null if it must have some, and its value has another form. */
function childrenOf(keyword: string, value: unknown): readonly unknown[] | null {
  // Before 2020-12, `items` could be a list.
  if (keyword === "items" && Array.isArray(value)) return value;
  if (singles.has(keyword)) return [value];
  if (lists.has(keyword)) return Array.isArray(value) && value.length > 0 ? value : null;
  if (maps.has(keyword)) return isRecord(value) ? Object.values(value) : null;
  return [];
}

function isSchema(value: unknown): boolean {
  return typeof value === "boolean" || isRecord(value);
}

/** Returns true if a JSON Pointer, as the fragment of an address, leads to a schema. */
function pointsTo(root: Schema, fragment: string): boolean {
  let at: unknown = root;
  for (const part of fragment.split("/").slice(1)) {
    const name = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return false;
    at = (at as Record<string, unknown>)[name];
  }
  return isSchema(at);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // It has a per cent sign that encodes nothing.
    return part;
  }
}

/** The forms that a key of the configuration may have: each with its words, its sample, and what it refuses. */
import { isTable } from "../system/guards.ts";

/** One setting. `fault` says why a value is refused, or gives null. */
export interface ValueField {
  kind: "value";
  about: string;
  /** The form of the value in words, for messages and documentation. */
  form: string;
  /** TOML text of the built-in value, or of an example where the built-in value is "none". */
  sample: string;
  fault(value: unknown): string | null;
  /** Environment variable that sets it. */
  env?: string;
  /** How the variable's text becomes a value; absent: the text is the value. */
  fromText?: (text: string) => unknown;
  isSecret?: boolean;
  /** The value as it is shown, where a part of it may be secret. */
  masked?: (value: unknown) => unknown;
}

export interface TableField {
  kind: "table";
  about: string;
  keys: Record<string, ConfigField>;
  /** One for the whole data folder: a workspace's own file may not say it (W7). */
  isShared?: boolean;
}

/** A table whose keys are names that a person chooses, each with the same form. */
export interface NamedField {
  kind: "named";
  names: NameForm;
  /** A name as a person may choose it, for the starter file. */
  sampleName: string;
  /** Keys that exclude some of the others stand under a name of their own in the starter file. */
  apart?: { sampleName: string; keys: readonly string[] };
  each: TableField | ValueField;
}

/** Which names may be chosen. None has a dot, which parts the names of a key's path. */
export interface NameForm {
  pattern: RegExp;
  words: string;
}

/** Names of contexts, modes and servers: they appear in URLs and in messages to the model, so they are kept plain. */
export const plainNames: NameForm = {
  pattern: /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/,
  words: '1 to 64 letters, digits, "_" or "-"',
};

export type ConfigField = ValueField | TableField | NamedField;

const toolNamePattern = /^[a-zA-Z0-9_-]{1,64}$/;

type Extra = Partial<Pick<ValueField, "env" | "isSecret">>;

export function text(about: string, sample: string, extra: Extra = {}): ValueField {
  const fault = (value: unknown): string | null =>
    typeof value === "string" && value !== "" ? null : "must be a text that is not empty";
  return { kind: "value", about, form: "text", sample: JSON.stringify(sample), fault, ...extra };
}

/** A text that may be empty, such as the instructions of a mode. */
export function prose(about: string, sample: string): ValueField {
  const fault = (value: unknown): string | null => (typeof value === "string" ? null : "must be a text");
  return { kind: "value", about, form: "text", sample: JSON.stringify(sample), fault };
}

export function secretKey(): ValueField {
  const fault = (value: unknown): string | null =>
    typeof value === "string" && /^[\x21-\x7e]+$/.test(value)
      ? null
      : "must be a key: letters, digits and signs, no space";
  const about = "The key itself. Better kept in the environment.";
  // A line's end that came along from a file is not part of a key.
  const fromText = (raw: string): string => raw.trim();
  return { kind: "value", about, form: "text", sample: JSON.stringify("sk-..."), fault, fromText, isSecret: true };
}

/** Which names there are is known only when all layers are read, so that is checked there. */
export function nameOf(form: string, about: string, extra: Extra & { sample: string }): ValueField {
  const { sample, ...rest } = extra;
  const fault = (value: unknown): string | null =>
    typeof value === "string" && value !== "" ? null : `must be the ${form}`;
  return { kind: "value", about, form, sample: JSON.stringify(sample), fault, ...rest };
}

export function providerName(about: string, extra: Extra = {}): ValueField {
  return nameOf("name of a provider", about, { sample: "openai", ...extra });
}

/** A name that may stand in front of others, and in an address. */
export function collectionName(about: string, sample: string): ValueField {
  const form = '1 to 64 letters, digits, "_" or "-"';
  const fault = (value: unknown): string | null =>
    typeof value === "string" && plainNames.pattern.test(value) ? null : `must be a name of ${form}`;
  return { kind: "value", about, form, sample: JSON.stringify(sample), fault };
}

/** The address of a provider's API. */
export function apiAddress(about: string, sample: string, extra: Extra = {}): ValueField {
  const field = url(about, sample, { schemes: ["https:", "http:"], ...extra });
  const fault = (value: unknown): string | null => {
    const found = field.fault(value);
    if (found !== null) return found;
    const { username, password } = new URL(value as string);
    return username === "" && password === "" ? null : "must hold no user and no password";
  };
  return { ...field, fault };
}

export function url(about: string, sample: string, extra: Extra & { schemes: string[] }): ValueField {
  const { schemes, ...rest } = extra;
  const fault = (value: unknown): string | null => {
    const parsed = typeof value === "string" ? URL.parse(value) : null;
    if (parsed !== null && schemes.includes(parsed.protocol))
      return isEncoded(parsed) ? null : "must have each % of its user and password written as %25";
    return `must be an address that starts with ${schemes.map((scheme) => `${scheme}//`).join(" or ")}`;
  };
  return { kind: "value", about, form: "address", sample: JSON.stringify(sample), fault, ...rest };
}

/** Whoever connects takes user and password out of the address, and could not take out a `%` that stands for nothing. */
function isEncoded({ username, password }: URL): boolean {
  try {
    return decodeURIComponent(username + password) !== null;
  } catch {
    return false;
  }
}

export function choice(about: string, values: readonly string[], extra: Extra = {}): ValueField {
  const listed = values.map((value) => JSON.stringify(value)).join(" or ");
  const fault = (value: unknown): string | null => (values.includes(value as string) ? null : `must be ${listed}`);
  return { kind: "value", about, form: listed, sample: JSON.stringify(values[0]), fault, ...extra };
}

interface NumberRange extends Extra {
  sample: number;
  min: number;
  max: number;
  /** True: fractions are taken too. */
  isReal?: boolean;
}

export function number(about: string, range: NumberRange): ValueField {
  const { sample, min, max, isReal = false, ...rest } = range;
  const form = `${isReal ? "number" : "whole number"} from ${min} to ${max}`;
  const fault = (value: unknown): string | null =>
    typeof value === "number" && value >= min && value <= max && (isReal || Number.isInteger(value))
      ? null
      : `must be a ${form}`;
  // Number("") and Number(" ") are 0, so digits are asked for first.
  const fromText = (raw: string): unknown => (/\d/.test(raw) ? Number(raw) : raw);
  return { kind: "value", about, form, sample: String(sample), fault, fromText, ...rest };
}

export function texts(about: string, sample: string[]): ValueField {
  const fault = (value: unknown): string | null =>
    Array.isArray(value) && value.every((item) => typeof item === "string" && item !== "")
      ? null
      : "must be a list of texts";
  return { kind: "value", about, form: "list of texts", sample: JSON.stringify(sample), fault };
}

/** JSON can say everything that a tool's parameters hold; dates and infinities of TOML it cannot. */
function isJson(value: unknown): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isJson);
  return isTable(value) && Object.values(value).every(isJson);
}

function toolFault(tool: unknown, index: number): string | null {
  const where = `[${index}]`;
  if (!isTable(tool)) return `${where} must be a table with name and parameters`;
  const unknownKey = Object.keys(tool).find((key) => !["name", "description", "parameters", "strict"].includes(key));
  if (unknownKey !== undefined) return `${where} has an unknown key "${unknownKey}"`;
  if (typeof tool["name"] !== "string" || !toolNamePattern.test(tool["name"]))
    return `${where}.name must be 1 to 64 letters, digits, "_" or "-"`;
  if (tool["description"] !== undefined && typeof tool["description"] !== "string")
    return `${where}.description must be a text`;
  if (!isTable(tool["parameters"]) || !isJson(tool["parameters"]))
    return `${where}.parameters must be a table that holds a JSON Schema`;
  if (tool["strict"] !== undefined && typeof tool["strict"] !== "boolean")
    return `${where}.strict must be true or false`;
  return null;
}

export function tools(about: string): ValueField {
  const fault = (value: unknown): string | null => {
    if (!Array.isArray(value)) return "must be a list of tables";
    for (const [index, tool] of value.entries()) {
      const found = toolFault(tool, index);
      if (found !== null) return found;
    }
    const names = value.map((tool: { name: string }) => tool.name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    return twice === undefined ? null : `has two tools of the name "${twice}"`;
  };
  return { kind: "value", about, form: "list of tables: name, description, parameters, strict", sample: "[]", fault };
}

export function flag(about: string, sample: boolean): ValueField {
  const form = "true or false";
  const fault = (value: unknown): string | null => (typeof value === "boolean" ? null : `must be ${form}`);
  return { kind: "value", about, form, sample: String(sample), fault };
}

export function table(about: string, keys: Record<string, ConfigField>): TableField {
  return { kind: "table", about, keys };
}

/** A table of which there is one for the whole data folder. */
export function sharedTable(about: string, keys: Record<string, ConfigField>): TableField {
  return { ...table(about, keys), isShared: true };
}

export function named(about: string, sampleName: string, keys: Record<string, ConfigField>): NamedField {
  return { kind: "named", names: plainNames, sampleName, each: table(about, keys) };
}

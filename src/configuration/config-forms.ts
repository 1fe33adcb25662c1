/** The forms that a value of the configuration may have. Each form has a description, a sample and a check. */
import { limits } from "../domain/limits.ts";
import { isTable } from "../system/guards.ts";

/** One setting. */
export interface ValueField {
  kind: "value";
  about: string;
  /** Description of the value's form, for messages and documentation. */
  form: string;
  /** TOML text of the built-in value, or of an example if there is no built-in value. */
  sample: string;
  /** Returns why a value is not valid, or null if it is valid. */
  fault(value: unknown): string | null;
  /** The environment variable that sets the key. */
  env?: string;
  /** Converts the variable's text into a value. If absent, the text is the value. */
  fromText?: (textField: string) => unknown;
  isSecret?: boolean;
  /** Returns false if a value of a secret field has nothing secret in it, for example only a reference to the environment. */
  hasSecret?: (value: unknown) => boolean;
  /** Returns the value with its secret parts masked, for display. */
  masked?: (value: unknown) => unknown;
}

export interface TableField {
  kind: "table";
  about: string;
  keys: Record<string, ConfigField>;
  /** True if only the file of the data folder may have the table, and no workspace's own file (W7). */
  isShared?: boolean;
}

/** A table whose keys are names that a person chooses. All its values have the same form. */
export interface NamedField {
  kind: "named";
  names: NameForm;
  /** A sample name for the starter file. */
  sampleName: string;
  /** Keys that exclude some of the others. The starter file shows them below a second sample name. */
  apart?: { sampleName: string; keys: readonly string[] };
  /** A text that may stand in the place of the table. It sets the key beside the table to true. */
  word?: { text: string; key: string };
  each: TableField | ValueField;
}

/** The form of the names that a person may choose. No name has a dot, because dots separate the parts of a key's path. */
export interface NameForm {
  pattern: RegExp;
  /** Description of the form, for messages. */
  words: string;
}

/** The form of names of contexts, modes and servers. These names appear in URLs and in messages to the model. */
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

/** Describes a text that may be empty, such as the instructions of a mode. */
export function emptyableTextField(about: string, sample: string): ValueField {
  const fault = (value: unknown): string | null => (typeof value === "string" ? null : "must be a text");
  return { kind: "value", about, form: "text", sample: JSON.stringify(sample), fault };
}

export function secretKeyField(): ValueField {
  const fault = (value: unknown): string | null =>
    typeof value === "string" && /^[\x21-\x7e]+$/.test(value)
      ? null
      : "must be a key of visible ASCII characters without spaces";
  const about = "The API key. It is safer in the environment.";
  // A line break that comes from a file is not part of a key.
  const fromText = (raw: string): string => raw.trim();
  return { kind: "value", about, form: "text", sample: JSON.stringify("sk-..."), fault, fromText, isSecret: true };
}

/** Describes the name of something else in the configuration. That the name exists is checked later, when all layers are read. */
export function nameField(form: string, about: string, extra: Extra & { sample: string }): ValueField {
  const { sample, ...rest } = extra;
  const fault = (value: unknown): string | null =>
    typeof value === "string" && value !== "" ? null : `must be the ${form}`;
  return { kind: "value", about, form, sample: JSON.stringify(sample), fault, ...rest };
}

export function providerNameField(about: string, extra: Extra = {}): ValueField {
  return nameField("name of a provider", about, { sample: "openai", ...extra });
}

/** Describes a name that may be a prefix of other names, and a part of an address. */
export function collectionNameField(about: string, sample: string): ValueField {
  const form = '1 to 64 letters, digits, "_" or "-"';
  const fault = (value: unknown): string | null =>
    typeof value === "string" && plainNames.pattern.test(value) ? null : `must be a name of ${form}`;
  return { kind: "value", about, form, sample: JSON.stringify(sample), fault };
}

/** Describes the http or https address of an API, without a user or a password. */
export function apiAddressField(about: string, sample: string, extra: Extra = {}): ValueField {
  const field = urlField(about, sample, { schemes: ["https:", "http:"], ...extra });
  const fault = (value: unknown): string | null => {
    const found = field.fault(value);
    if (found !== null) return found;
    const { username, password } = new URL(value as string);
    return username === "" && password === "" ? null : "must not contain a user or a password";
  };
  return { ...field, fault };
}

export function urlField(about: string, sample: string, extra: Extra & { schemes: string[] }): ValueField {
  const { schemes, ...rest } = extra;
  const fault = (value: unknown): string | null => {
    const parsed = typeof value === "string" ? URL.parse(value) : null;
    if (parsed !== null && schemes.includes(parsed.protocol))
      return isEncoded(parsed) ? null : "must have each % of its user and password written as %25";
    return `must be an address that starts with ${schemes.map((scheme) => `${scheme}//`).join(" or ")}`;
  };
  return { kind: "value", about, form: "address", sample: JSON.stringify(sample), fault, ...rest };
}

/** Returns true if user and password can be decoded. The client that connects decodes them, and fails on a stray `%`. */
function isEncoded({ username, password }: URL): boolean {
  try {
    return decodeURIComponent(username + password) !== null;
  } catch {
    return false;
  }
}

export function choiceField(about: string, values: readonly string[], extra: Extra = {}): ValueField {
  const listed = values.map((value) => JSON.stringify(value)).join(" or ");
  const fault = (value: unknown): string | null => (values.includes(value as string) ? null : `must be ${listed}`);
  return { kind: "value", about, form: listed, sample: JSON.stringify(values[0]), fault, ...extra };
}

interface NumberRange extends Extra {
  sample: number;
  min: number;
  max: number;
  /** True if fractions are allowed. */
  isReal?: boolean;
}

export function numberField(about: string, range: NumberRange): ValueField {
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

export function textListField(about: string, sample: string[]): ValueField {
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

export function toolListField(about: string): ValueField {
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

/** Describes context windows by the names of models. A model's name may have dots, so the whole table is one value. */
export function modelWindowsField(sampleModel: string): ValueField {
  const { contextTokensMin: min, contextTokensMax: max } = limits;
  const form = `table of models with whole numbers from ${min} to ${max}`;
  const isWindow = (value: unknown): boolean =>
    typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
  const fault = (value: unknown): string | null =>
    isTable(value) && Object.values(value).every(isWindow) ? null : `must be a ${form}`;
  const about = "Context windows in tokens, of models that aptove does not know.";
  return { kind: "value", about, form, sample: `{ ${JSON.stringify(sampleModel)} = 32768 }`, fault };
}

export function booleanField(about: string, sample: boolean): ValueField {
  const form = "true or false";
  const fault = (value: unknown): string | null => (typeof value === "boolean" ? null : `must be ${form}`);
  return { kind: "value", about, form, sample: String(sample), fault };
}

export function tableField(about: string, keys: Record<string, ConfigField>): TableField {
  return { kind: "table", about, keys };
}

/** Describes a table that only the file of the data folder may have. */
export function sharedTableField(about: string, keys: Record<string, ConfigField>): TableField {
  return { ...tableField(about, keys), isShared: true };
}

export function namedField(about: string, sampleName: string, keys: Record<string, ConfigField>): NamedField {
  return { kind: "named", names: plainNames, sampleName, each: tableField(about, keys) };
}

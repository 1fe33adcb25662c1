/** Writes the configuration as text for people: the commented starter file, and the effective values with secrets masked. */
import { configFields } from "./config-fields.ts";
import { knownKeys, partsOf } from "./known-keys.ts";
import type { ConfigField, NamedField, TableField, ValueField } from "./config-forms.ts";
import type { LoadedConfiguration, ValueSource } from "./configuration.ts";
import { maskSecret } from "../system/mask-secret.ts";

/** Returns a `config.toml` that has every key with its meaning, commented out. */
export function starterConfig(): string {
  const lines = [
    "## Configuration of aptove. Every key is optional. A line that starts with one # is a key: remove the # to set it.",
    "## Later values override earlier ones: this file, then a workspace's own, the environment, options of a command or request.",
    "## Check it with: aptove config check",
    "",
  ];
  writeTable(lines, configFields, []);
  return `${lines.join("\n").trimEnd()}\n`;
}

function writeTable(lines: string[], table: TableField, path: string[]): void {
  const entries = Object.entries(table.keys);
  const values = entries.filter((entry): entry is [string, ValueField] => entry[1].kind === "value");
  if (table.about !== "") lines.push(`## ${table.about}`);
  if (path.length > 0 && values.length > 0) lines.push(`# [${path.join(".")}]`);
  for (const [key, field] of values) lines.push(`## ${wordsOf(field)}`, `# ${key} = ${field.sample}`);
  if (values.length > 0) lines.push("");
  for (const [key, field] of entries) writeBelow(lines, field, [...path, key]);
}

function writeBelow(lines: string[], field: ConfigField, path: string[]): void {
  if (field.kind === "table") writeTable(lines, field, path);
  else if (field.kind === "named") writeNamed(lines, field, path);
}

function writeNamed(lines: string[], field: NamedField, path: string[]): void {
  for (const [name, part] of partsOf(field)) {
    if (part.kind === "table") writeTable(lines, part, [...path, name]);
    else lines.push(`# [${path.join(".")}]`, `## ${wordsOf(part)}`, `# ${name} = ${part.sample}`, "");
  }
}

function wordsOf(field: ValueField): string {
  const form = field.form.includes(" or ") ? ` One of ${field.form}.` : "";
  return `${field.about}${form}${field.env === undefined ? "" : ` Environment: ${field.env}.`}`;
}

export interface EffectiveValue {
  key: string;
  /** The value as JSON text. A secret is masked. Null if the key has no value. */
  value: string | null;
  layer: ValueSource["layer"];
  /** `built-in`, a file, or the name of a variable. */
  source: string;
}

/** Returns every key with its effective value and the source of that value, in the order of the starter file. */
export function effectiveValues({ configuration, sources }: LoadedConfiguration): EffectiveValue[] {
  const tree = fileForm(configFields, configuration) as Record<string, unknown>;
  return knownKeys().flatMap(({ path, field }) =>
    expandIds(tree, path).map((key) => {
      const value = valueAt(tree, key);
      const { layer, place } = sources.get(key) ?? { layer: "built-in", place: "built-in" };
      const shown = value === undefined || value === null ? null : shownValue(field, value);
      return { key, value: shown, layer, source: place };
    }),
  );
}

/** Returns a path such as `conversation_contexts.<id>.name` once for each name that exists. */
function expandIds(tree: Record<string, unknown>, path: string): string[] {
  const at = path.indexOf(".<id>");
  if (at === -1) return [path];
  const named = valueAt(tree, path.slice(0, at)) as Record<string, unknown>;
  return Object.keys(named).flatMap((id) => expandIds(tree, path.slice(0, at) + `.${id}` + path.slice(at + 5)));
}

function valueAt(tree: Record<string, unknown>, key: string): unknown {
  return key.split(".").reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], tree);
}

function shownValue(field: ValueField, value: unknown): string {
  if (field.isSecret !== true) return JSON.stringify(field.masked === undefined ? value : field.masked(value));
  return JSON.stringify(maskSecret(String(value)));
}

/** Converts the typed configuration into the form of the file: with the file's key names, and with lists as tables by id. */
function fileForm(field: ConfigField, value: unknown): unknown {
  if (field.kind === "value") return value;
  if (field.kind === "table") {
    const known = Object.entries(field.keys);
    const of = value as Record<string, unknown>;
    return Object.fromEntries(known.map(([key, child]) => [key, fileForm(child, of[camelCase(key)])]));
  }
  const items = Array.isArray(value)
    ? value.map((item: { id: string }): [string, unknown] => [item.id, item])
    : Object.entries(value as Record<string, unknown>);
  return Object.fromEntries(items.map(([name, item]) => [name, fileForm(field.each, item)]));
}

function camelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
}

/**
 * Reads one layer of the configuration (W7): turns the text of a file, or a tree of values, into values by key path.
 * Each layer is checked by itself, so that a fault names the file or variable that has it.
 */
import { readFileSync } from "node:fs";
import { distance } from "fastest-levenshtein";
import { parse as parseToml, TomlError } from "smol-toml";
import { AptoveError } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import { isTable } from "../system/guards.ts";
import { systemCode } from "../system/system-error.ts";
import { configFields } from "./config-fields.ts";
import { knownKeys } from "./known-keys.ts";
import type { ConfigField, NamedField, TableField, ValueField } from "./config-forms.ts";
import { keyVariables } from "./configured-providers.ts";
import { chosenNames, type LayerValues } from "./merged-values.ts";

/** The source of a key's effective value. `place` is a file, or the name of a variable. */
export interface ValueSource {
  layer: "built-in" | "global" | "workspace" | "environment" | "explicit";
  place: string;
}

export interface ConfigLayer {
  values: LayerValues;
  source(key: string): ValueSource;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ConfigFault {
  /** The file or variable that has the fault. */
  place: string;
  key: string;
  message: string;
}

export function configInvalid(faults: readonly ConfigFault[]): AptoveError {
  const reported = faults.slice(0, limits.configFaultsMax);
  const others = faults.length === reported.length ? [] : [`and ${faults.length - reported.length} more`];
  const detail = [...reported.map(({ place, key, message }) => `${place}: ${key} ${message}`), ...others].join("; ");
  return new AptoveError("config_invalid", detail, { facts: { faults: reported } });
}

export function sourceText({ layer, place }: ValueSource): string {
  return layer === "environment" ? `environment variable ${place}` : place;
}

/** Returns the text of a configuration file, or null if the file does not exist. Throws `config_invalid`. */
export function readConfigText(file: string): string | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT") return null;
    throw new AptoveError("config_invalid", `${file} cannot be read (${code})`, { cause: error });
  }
  try {
    // The decoder removes the byte order mark that some editors write.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new AptoveError("config_invalid", `${file} is not UTF-8 text`, { cause: error });
  }
}

/** Parses TOML. Throws `config_invalid` with the line and the column. */
export function parseConfigText(text: string, place: string): Record<string, unknown> {
  try {
    return parseToml(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split("\n")[0]?.replace("Invalid TOML document: ", "");
    throw new AptoveError("config_invalid", `${place}:${error.line}:${error.column}: ${reason}`, { cause: error });
  }
}

interface LayerTree {
  tree: Record<string, unknown>;
  place: string;
  /** The file that keys for the whole data folder belong into. Absent if this layer itself may have them. */
  sharedPlace?: string;
}

/** Checks a tree against the known keys and returns its values by key path. Adds what is wrong to `faults`. */
export function flattenLayer({ tree, place, sharedPlace }: LayerTree, faults: ConfigFault[]): LayerValues {
  const values: LayerValues = new Map();
  const add = (key: string, message: string): void => void faults.push({ place, key, message });
  const walk = (field: ConfigField, value: unknown, key: string): void => {
    if (field.kind === "value") {
      const message = field.fault(value);
      if (message === null) values.set(key, value);
      else add(key, message);
    } else if (field.kind === "named" && field.word !== undefined && value === field.word.text) {
      values.set(key.replace(/[^.]*$/, field.word.key), true);
    } else if (!isTable(value)) {
      add(key, "must be a table");
    } else if (field.kind === "named") {
      walkNamed(field, value, key);
    } else if (field.isShared === true && sharedPlace !== undefined) {
      add(key, `is the same for every workspace; set it in ${sharedPlace}`);
    } else {
      for (const [name, child] of Object.entries(value)) {
        const path = key === "" ? name : `${key}.${name}`;
        const known = Object.hasOwn(field.keys, name) ? field.keys[name] : undefined;
        if (known !== undefined) walk(known, child, path);
        else add(path, unknownText(field, key, name));
      }
    }
  };
  // A suggestion that will not be reported is not computed: a file may have hundreds of thousands of unknown keys.
  const unknownText = (table: TableField, key: string, name: string): string =>
    faults.length >= limits.configFaultsMax || name.length > limits.configKeyCharactersMax
      ? "is not known"
      : `is not known; did you mean "${nearestKey(table, key, name)}"?`;
  const walkNamed = ({ names, each }: NamedField, value: Record<string, unknown>, key: string): void => {
    for (const [name, child] of Object.entries(value)) {
      const path = `${key}.${name}`;
      if (names.pattern.test(name)) {
        if (each.kind === "table" && isTable(child)) values.set(path, {});
        walk(each, child, path);
      } else {
        add(path, `is not a name: ${names.words}`);
      }
    }
  };
  walk(configFields, tree, "");
  return values;
}

/** Returns the nearest known key: one of the same table, unless another key of the file is strictly nearer. */
function nearestKey(table: TableField, tableKey: string, name: string): string {
  const siblings = Object.keys(table.keys).map((key) => (tableKey === "" ? key : `${tableKey}.${key}`));
  const all = [...siblings, ...knownKeys().map(({ path }) => path)];
  const last = (path: string): string => path.slice(path.lastIndexOf(".") + 1);
  let best = { path: siblings[0] ?? "", steps: Infinity };
  for (const path of all) {
    const steps = distance(last(path), name);
    if (steps < best.steps) best = { path, steps };
  }
  return best.path;
}

/** The key of the tables whose names are also names of providers. */
export const serversKey = "providers.compatible";

/** Reads the layer of the environment. The other layers, `over` with the highest first, name the variables that hold keys. */
export function environmentLayer(env: Environment, over: readonly LayerValues[], faults: ConfigFault[]): ConfigLayer {
  const servers = new Set(over.flatMap((values) => chosenNames(values.keys(), serversKey)));
  const named = (path: string): string | undefined =>
    over.find((values) => values.has(path))?.get(path) as string | undefined;
  const variables = keyVariables([...servers], named);
  for (const { path, field } of knownKeys()) {
    // A variable cannot contain a name, so it sets the default context.
    if (field.env !== undefined) variables.set(path.replace("<id>", "default"), [field.env]);
  }
  const values: LayerValues = new Map();
  const places = new Map<string, string>();
  for (const [key, usual] of variables) {
    const variable = usual.find((name) => (env[name] ?? "") !== "");
    const text = variable === undefined ? undefined : env[variable];
    if (variable === undefined || text === undefined) continue;
    const field = fieldAt(key);
    const value = field.fromText === undefined ? text : field.fromText(text);
    const message = field.fault(value);
    places.set(key, variable);
    if (message === null) values.set(key, value);
    else faults.push({ place: sourceText({ layer: "environment", place: variable }), key, message });
  }
  return { values, source: (key) => ({ layer: "environment", place: places.get(key) ?? "APTOVE_PROVIDER" }) };
}

/** Returns the field of a key that is known to exist. */
export function fieldAt(key: string): ValueField {
  let field: ConfigField = configFields;
  for (const segment of key.split(".")) {
    if (field.kind === "table") field = field.keys[segment] as ConfigField;
    else if (field.kind === "named") field = field.each;
  }
  if (field.kind !== "value") throw new AptoveError("internal", `${key} is not a key of the configuration`);
  return field;
}

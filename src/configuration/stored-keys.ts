/**
 * Keys of providers in `config.toml` of the data folder, which only its owner can read. A key is written as one line
 * among those of the person: everything else in the file stays as it was, with its comments.
 */
import { existsSync, realpathSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { AptoveError } from "../domain/errors.ts";
import { writePrivateFile } from "../system/durable-files.ts";
import { isTable } from "../system/guards.ts";
import { parseConfigText, readConfigText } from "./config-layer.ts";
import { keyedNames } from "./configured-providers.ts";
import type { DataFolder } from "./data-folder.ts";

/** Stores the key of a provider, in place of a former one. Throws `config_invalid` if the file cannot be changed safely. */
export function storeKey({ config }: DataFolder, provider: string, key: string): void {
  const text = readConfigText(config) ?? "";
  replace(config, changed({ text, file: config }, provider, key));
}

/** Removes every stored key of a provider, or those of this one. Returns the providers whose keys were removed. */
export function forgetKeys({ config }: DataFolder, provider: string | null = null): string[] {
  const text = readConfigText(config);
  if (text === null) return [];
  const stored = providersWithKeys(parseConfigText(text, config));
  const forgotten = stored.filter((name) => provider === null || name === provider);
  let next = text;
  for (const name of forgotten) next = changed({ text: next, file: config }, name, null);
  if (forgotten.length > 0) replace(config, next);
  return forgotten;
}

/** A link stays a link: people keep their configuration elsewhere. */
function replace(file: string, text: string): void {
  writePrivateFile(existsSync(file) ? realpathSync(file) : file, text);
}

function providersWithKeys(tree: Record<string, unknown>): string[] {
  const { providers } = tree;
  if (!isTable(providers)) return [];
  const servers = isTable(providers["compatible"]) ? Object.entries(providers["compatible"]) : [];
  const all = [...keyedNames.map((name): [string, unknown] => [name, providers[name]]), ...servers];
  return all.flatMap(([name, settings]) => (isTable(settings) && "api_key" in settings ? [name] : []));
}

/** Returns the path of the provider's table. */
function pathOf(provider: string): string[] {
  const isBuiltIn = keyedNames.some((name) => name === provider);
  return isBuiltIn ? ["providers", provider] : ["providers", "compatible", provider];
}

/** Returns the text with this key, or without one. The result is parsed and compared, because TOML has many forms. */
function changed({ text, file }: { text: string; file: string }, provider: string, key: string | null): string {
  const path = pathOf(provider);
  const next = withLine(text, path.join("."), key === null ? null : `api_key = ${JSON.stringify(key)}`);
  const wanted = structuredClone(parseConfigText(text, file));
  let table = wanted;
  for (const name of path) table = (table[name] ??= {}) as Record<string, unknown>;
  if (key === null) delete table["api_key"];
  else table["api_key"] = key;
  if (isDeepStrictEqual(structuredClone(parsedOrNull(next, file)), wanted)) return next;
  const detail = `${file} cannot be changed safely; change ${path.join(".")}.api_key there yourself`;
  throw new AptoveError("config_invalid", detail);
}

function parsedOrNull(text: string, file: string): unknown {
  try {
    return parseConfigText(text, file);
  } catch {
    return null;
  }
}

/** Sets the line `api_key` of a table, or removes it. */
function withLine(text: string, table: string, line: string | null): string {
  const lines = text.split("\n");
  const isHeader = (at: string): boolean => at.replace(/#.*/, "").replaceAll(/\s/g, "") === `[${table}]`;
  const header = lines.findIndex(isHeader);
  if (header === -1) {
    return line === null ? text : `${text.trimEnd()}${text.trim() === "" ? "" : "\n\n"}[${table}]\n${line}\n`;
  }
  const after = lines.findIndex((at, index) => index > header && /^\s*\[/.test(at));
  const end = after === -1 ? lines.length : after;
  const former = lines.findIndex((at, index) => index > header && index < end && /^\s*api_key\s*=/.test(at));
  const own = line === null ? [] : [line];
  if (former === -1) lines.splice(header + 1, 0, ...own);
  else lines.splice(former, 1, ...own);
  return lines.join("\n");
}

/**
 * The MCP servers of the configuration (P5): the keys of a server, the faults that only the merged layers show, and the
 * servers to start, with variables of the environment filled in.
 */
import {
  namedField,
  numberField,
  booleanField,
  type ConfigField,
  type NameForm,
  type NamedField,
  type ValueField,
} from "./config-forms.ts";
import { maskArguments } from "../system/mask-secret.ts";
import type { MergedValues } from "./merged-values.ts";

/** A server as it is configured. Exactly one of `command` and `url` is not null. */
export interface McpServerSettings {
  id: string;
  command: string | null;
  args: string[];
  env: Record<string, string>;
  url: string | null;
  headers: Record<string, string>;
  /** Timeout of one call in milliseconds. Null for the timeout of all tools. */
  timeMs: number | null;
  enabled: boolean;
}

/** A server to start or to call, in the form that a session's tools need. */
export type McpServerToStart =
  | { type: "stdio"; name: string; command: string; args: string[]; env: Record<string, string>; timeMs?: number }
  | { type: "http"; name: string; url: string; headers: Record<string, string>; timeMs?: number };

type Environment = Readonly<Record<string, string | undefined>>;

const serversKey = "mcp_servers";

/** Matches references to variables. `$${` means a literal `${`; `${` without a name and `}` is a fault. */
const references = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{/g;

const variableNames: NameForm = {
  pattern: /^[A-Za-z_][A-Za-z0-9_]{0,255}$/,
  words: 'letters, digits or "_", not starting with a digit',
};
const headerNames: NameForm = {
  pattern: /^[A-Za-z0-9_-]{1,255}$/,
  words: 'letters, digits, "_" or "-"',
};

/** Describes a text in which `${NAME}` is replaced by a variable of the environment. */
function template(about: string, sample: string, more: { isSecret?: boolean; mayBeEmpty?: boolean } = {}): ValueField {
  const { mayBeEmpty = false, ...rest } = more;
  const fault = (value: unknown): string | null => {
    if (typeof value !== "string" || value.includes("\0") || (value === "" && !mayBeEmpty)) {
      return mayBeEmpty ? "must be a text" : "must be a text that is not empty";
    }
    return referenceFault(value);
  };
  return { kind: "value", about, form: "text", sample: JSON.stringify(sample), fault, hasSecret, ...rest };
}

/** Returns false if all that is secret of a text is in variables of the environment, as in `Bearer ${TOKEN}`. */
function hasSecret(value: unknown): boolean {
  const text = String(value);
  const own = text.replaceAll(references, (whole, name: string | undefined) => (name === undefined ? whole : ""));
  return own === text || !/^\s*(?:(?:bearer|basic|token)\s+)?$/i.test(own);
}

/** A key in an address is in its query, or long. What is no address is refused elsewhere. */
function hasSecretInAddress(value: unknown): boolean {
  const url = URL.parse(String(value).replace(references, ""));
  if (url === null) return true;
  const isPlain = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  return !isPlain || /[^/]{16}/.test(url.pathname);
}

function referenceFault(text: string): string | null {
  const isOpen = [...text.matchAll(references)].some(([whole]) => whole === "${");
  return isOpen ? "must name a variable in each ${NAME}; write $${ for a literal ${" : null;
}

const argsField: ValueField = {
  kind: "value",
  about: "Arguments of the command.",
  form: "list of texts",
  sample: JSON.stringify(["-y", "@modelcontextprotocol/server-filesystem", "docs"]),
  fault: (value) => {
    const isList = Array.isArray(value) && value.every((item) => typeof item === "string" && !item.includes("\0"));
    if (!isList) return "must be a list of texts";
    return (value as string[]).map(referenceFault).find((fault) => fault !== null) ?? null;
  },
  masked: (value) => maskArguments(value as string[]),
};

const urlField: ValueField = {
  ...template("Address of a running server that uses streamable HTTP.", "https://mcp.example.org/mcp"),
  form: "address",
  // Some hosts require their key in the address.
  isSecret: true,
  hasSecret: hasSecretInAddress,
  fault: (value) => {
    if (typeof value !== "string") return "must be an address that starts with https:// or http://";
    return referenceFault(value) ?? addressFault(value.replace(references, "x"));
  },
};

function addressFault(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !["https:", "http:"].includes(url.protocol)) {
    return "must be an address that starts with https:// or http://";
  }
  return url.username === "" && url.password === "" ? null : "must not contain a user or a password; use headers";
}

function textsByName(names: NameForm, sampleName: string, each: ValueField): NamedField {
  return { kind: "named", names, sampleName, each };
}

const keys: Record<string, ConfigField> = {
  command: template("Program to start. Set either this or `url`.", "npx"),
  args: argsField,
  url: urlField,
  time_ms: numberField("Timeout of one call, in milliseconds.", { sample: 60_000, min: 100, max: 86_400_000 }),
  enabled: booleanField("True if the server is used. A workspace can turn off a server of the global file.", true),
  env: textsByName(
    variableNames,
    "LOG_LEVEL",
    template("Environment variable of the program.", "${LOG_LEVEL}", { isSecret: true, mayBeEmpty: true }),
  ),
  headers: textsByName(
    headerNames,
    "Authorization",
    template("Header of every request to the server.", "Bearer ${TRACKER_TOKEN}", { isSecret: true }),
  ),
};

/** The field `mcp_servers` of the configuration. */
export const mcpServerFields: NamedField = {
  ...namedField("An MCP server, which adds tools. ${NAME} is replaced by an environment variable.", "files", keys),
  apart: { sampleName: "tracker", keys: ["url", "headers"] },
};

export function settleMcpServers(values: MergedValues): McpServerSettings[] {
  const byName = (key: string): Record<string, string> =>
    Object.fromEntries(values.names(key, []).map((name) => [name, values.get<string>(`${key}.${name}`) ?? ""]));
  return values.names(serversKey, []).map((id) => {
    const key = `${serversKey}.${id}`;
    return {
      id,
      command: values.text(`${key}.command`),
      args: values.get<string[]>(`${key}.args`) ?? [],
      env: byName(`${key}.env`),
      url: values.text(`${key}.url`),
      headers: byName(`${key}.headers`),
      timeMs: values.get<number>(`${key}.time_ms`) ?? null,
      enabled: values.get<boolean>(`${key}.enabled`) ?? true,
    };
  });
}

/** Returns faults that no single layer shows: each server has exactly one of command and url, and only the keys that go with it. */
export function mcpServerFaults(values: MergedValues): { key: string; message: string; besides?: string }[] {
  return values.names(serversKey, []).flatMap((id) => {
    const key = `${serversKey}.${id}`;
    const [command, url] = [`${key}.command`, `${key}.url`];
    const has = (path: string): boolean => values.get(path) !== undefined;
    if (has(command) && has(url)) {
      return [
        { key: url, message: `and ${command} exclude each other; remove one, or use another name`, besides: command },
      ];
    }
    if (!has(command) && !has(url)) return [{ key, message: "needs a command, or a url" }];
    const stray = has(url) ? ["args", "env"] : ["headers"];
    const found = stray.filter((name) => has(`${key}.${name}`) || values.names(`${key}.${name}`, []).length > 0);
    return found.map((name) => ({
      key: `${key}.${name}`,
      message: has(url) ? "is for a server with a command" : "is for a server with a url",
    }));
  });
}

/**
 * Returns the enabled servers with variables of the environment filled in. A server is left out if a variable is not
 * set or makes a value invalid; `faults` then states why, without the variable's value (E8).
 */
export function configuredMcpServers(
  configuration: { mcpServers: readonly McpServerSettings[] },
  env: Environment,
): { servers: McpServerToStart[]; faults: string[] } {
  const servers: McpServerToStart[] = [];
  const faults: string[] = [];
  for (const settings of configuration.mcpServers) {
    if (!settings.enabled) continue;
    const found = serverToStart(settings, env);
    if (typeof found === "string") faults.push(`the MCP server "${settings.id}" is left out: ${found}`);
    else servers.push(found);
  }
  return { servers, faults };
}

/** Returns the server, or a text that states why it cannot be started. */
function serverToStart(settings: McpServerSettings, env: Environment): McpServerToStart | string {
  const missing = new Set<string>();
  const fill = (text: string): string =>
    text.replace(references, (whole: string, name: string | undefined) => {
      if (name === undefined) return whole.slice(1);
      // An empty variable counts as absent, here as everywhere.
      if ((env[name] ?? "") === "") missing.add(name);
      return env[name] ?? "";
    });
  const fillAll = (texts: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, fill(text)]));
  const { id: name, command, args, url, timeMs } = settings;
  const time = timeMs === null ? {} : { timeMs };
  const server: McpServerToStart =
    url === null
      ? { type: "stdio", name, command: fill(command ?? ""), args: args.map(fill), env: fillAll(settings.env), ...time }
      : { type: "http", name, url: fill(url), headers: trimmed(fillAll(settings.headers)), ...time };
  if (missing.size > 0) return `${[...missing].join(", ")} is not set in the environment`;
  return server.type === "http" ? (httpFault(server) ?? server) : server;
}

/** Trims values, because a line break that comes from a file is not part of a token. */
function trimmed(texts: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.trim()]));
}

function httpFault({ url, headers }: { url: string; headers: Record<string, string> }): string | null {
  const fault = addressFault(url);
  if (fault !== null) return `its url, with the environment's values, ${fault}`;
  const unsendable = Object.entries(headers).find(([, text]) => !/^[\t\x20-\x7e\x80-\xff]+$/.test(text));
  return unsendable === undefined ? null : `the header ${unsendable[0]} has a value that cannot be sent`;
}

/** Where a driver that speaks HTTP sends its requests, and with which headers. */
import { AptoveError } from "../domain/errors.ts";
import { sha256 } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import { post, type HttpPost } from "./post.ts";

/** What every driver that speaks HTTP lets its user choose. */
export interface HttpProviderOptions {
  /** Sent with every call; none of them replaces the one that holds the key. */
  headers?: Record<string, string>;
  /** In place of our own way to send; must honour the signal. */
  fetch?: typeof fetch;
  /** In place of the limits of the same names. */
  firstByteMs?: number;
  idleMs?: number;
}

export interface HttpConnection {
  /** The provider's name, for the history and for people. */
  name: string;
  /** Without a slash at its end. */
  baseUrl: string;
  /** By their names in small letters. */
  headers: Record<string, string>;
  /** A hash of all that decides who is spoken to and as whom (C2). */
  account: string;
  /** Texts that no error may quote. */
  secrets: string[];
  post: HttpPost;
  firstByteMs: number;
  idleMs: number;
}

export interface HttpConnectionOptions extends HttpProviderOptions {
  name: string;
  baseUrl: string;
  /** Null for a server that asks for none. */
  apiKey: string | null;
  /** The driver's own headers that `headers` may replace. */
  defaultHeaders?: Record<string, string>;
  /** Those that it may not replace: the key, and what the wire demands. */
  fixedHeaders: Record<string, string>;
}

/** Throws `config_invalid` for options that cannot be used; never names the key or a header's value (E8). */
export function createHttpConnection(options: HttpConnectionOptions): HttpConnection {
  const { name, apiKey, baseUrl, headers: extra = {} } = options;
  const invalid = (what: string): AptoveError => new AptoveError("config_invalid", what);
  if (apiKey !== null && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw invalid(`the API key of provider "${name}" is empty or has a character that no key has`);
  }
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw invalid(`the base URL of provider "${name}" is not an http or https URL`);
  }
  if (new URL(baseUrl).username !== "" || new URL(baseUrl).password !== "") {
    throw invalid(`the base URL of provider "${name}" holds a user or a password, which belong into a header`);
  }
  const base = baseUrl.replace(/\/+$/, "");
  const chosen = chosenHeaders(options);
  if (chosen === null) throw invalid(`an extra header of provider "${name}" has a name or a value that cannot be sent`);
  const own = { ...options.fixedHeaders, "content-type": "application/json" };
  return {
    name,
    baseUrl: base,
    // Some servers turn away whoever does not say what it is.
    headers: { accept: "text/event-stream", "user-agent": "aptove", ...Object.fromEntries(chosen), ...own },
    account: sha256(JSON.stringify([base, sha256(apiKey ?? ""), chosen])),
    secrets: [apiKey ?? "", ...Object.values(extra)].filter((value) => value === apiKey || value.length >= 8),
    post: options.fetch ?? post,
    firstByteMs: options.firstByteMs ?? limits.providerFirstByteMs,
    idleMs: options.idleMs ?? limits.providerIdleMs,
  };
}

/** By name, each once, whatever the case of its letters. Null where one of them cannot be a header. */
function chosenHeaders({
  defaultHeaders: replaceable = {},
  headers = {},
}: HttpConnectionOptions): [string, string][] | null {
  const chosen = new Map<string, string>();
  for (const [name, given] of [...Object.entries(replaceable), ...Object.entries(headers)]) {
    const value = given.replaceAll(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) return null;
    chosen.set(name.toLowerCase(), value);
  }
  return [...chosen].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

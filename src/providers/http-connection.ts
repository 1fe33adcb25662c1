/** The server that a driver on HTTP sends its requests to, and the headers that it sends with them. */
import { AptoveError } from "../domain/errors.ts";
import { sha256 } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import { post, type HttpPost } from "./post.ts";

/** The options that every driver on HTTP has. */
export interface HttpProviderOptions {
  /** The key under which the provider is configured; the driver's own name by default. */
  name?: string;
  apiKey?: string;
  /** The URL of the API; the vendor's own by default. */
  baseUrl?: string;
  /** The default model. */
  model: string;
  /** The context windows of models in tokens, by their names (C6). */
  contextTokens?: Readonly<Record<string, number>>;
  /** Headers that are sent with every call. None of them replaces the header that holds the key. */
  headers?: Record<string, string>;
  /** A replacement for our own way to send; it must honour the signal. */
  fetch?: typeof fetch;
  /** A replacement for the limit `providerFirstByteMs`. */
  firstByteMs?: number;
  /** A replacement for the limit `providerIdleMs`. */
  idleMs?: number;
}

export interface HttpConnection {
  /** The context windows of models in tokens, by their names. */
  contextTokens: Readonly<Record<string, number>>;
  /** The provider's name, for the history and for people. */
  name: string;
  /** The URL of the API, without a slash at its end. */
  baseUrl: string;
  /** The headers of every request, by their names in lower case. */
  headers: Record<string, string>;
  /** A hash of everything that decides which server is called, and by whom (C2). */
  account: string;
  hasKey: boolean;
  /** Texts that no error may quote. */
  secrets: string[];
  post: HttpPost;
  firstByteMs: number;
  idleMs: number;
}

export interface HttpConnectionOptions extends Omit<HttpProviderOptions, "model"> {
  name: string;
  baseUrl: string;
  /** The driver's own headers that `headers` may replace. */
  defaultHeaders?: Record<string, string>;
  /** The driver's own headers that `headers` may not replace: the key, and what the wire demands. */
  fixedHeaders: Record<string, string>;
}

/**
 * Makes a connection from the options of a provider. Without `apiKey` the server is called without a key. Throws
 * `config_invalid` for options that cannot be used. The error never shows the key or the value of a header (E8).
 */
export function createHttpConnection(options: HttpConnectionOptions): HttpConnection {
  const { name, apiKey, baseUrl, headers: extra = {} } = options;
  const invalid = (message: string): AptoveError => new AptoveError("config_invalid", message);
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
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
    contextTokens: options.contextTokens ?? {},
    // Some servers refuse clients without a `user-agent`.
    headers: { accept: "text/event-stream", "user-agent": "aptove", ...Object.fromEntries(chosen), ...own },
    account: sha256(JSON.stringify([base, sha256(apiKey ?? ""), chosen])),
    hasKey: apiKey !== undefined,
    secrets: [apiKey ?? "", ...Object.values(extra)].filter((value) => value === apiKey || value.length >= 8),
    post: options.fetch ?? post,
    firstByteMs: options.firstByteMs ?? limits.providerFirstByteMs,
    idleMs: options.idleMs ?? limits.providerIdleMs,
  };
}

/** Returns the replaceable headers, each name once in lower case. Returns null if one of them cannot be a header. */
function chosenHeaders({ defaultHeaders = {}, headers = {} }: HttpConnectionOptions): [string, string][] | null {
  const chosen = new Map<string, string>();
  for (const [name, given] of [...Object.entries(defaultHeaders), ...Object.entries(headers)]) {
    const value = given.replaceAll(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) return null;
    chosen.set(name.toLowerCase(), value);
  }
  return [...chosen].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

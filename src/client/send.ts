/** Sends one request to a route, named as in the route table, which gives the types. */
import { paths, type RouteName } from "../protocol/routes/paths.ts";
import type { AnswerOf, BodyOf, ParamsOf, QueryOf } from "../protocol/routes/routes.ts";
import { AptoveApiError, apiErrorOf } from "./api-error.ts";
import { serverAddress, serverKey } from "./server-address.ts";

export interface RequestOptions<N extends RouteName> {
  id?: string;
  /** Parameters of the path other than `{id}`. */
  params?: ParamsOf<N>;
  query?: QueryOf<N>;
  /** The JSON body. */
  body?: BodyOf<N>;
  /** A body that is not JSON, in place of `body`. */
  content?: RequestContent;
  accept?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** True if the route answers in the same form with status 503. */
  readsUnavailable?: true;
}

/** A body that is not JSON. A stream can be sent only once. Some browsers cannot send a stream and need a Blob. */
export interface RequestContent {
  mediaType: string;
  bytes: Blob | string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

export interface ServerConnection {
  /** Address of the server. It may have a path, which is put before the routes. In a browser it may be relative to the page. */
  url: string;
  /** The API key's secret. */
  key?: string;
  /** Replaces the key for the page: returns what `signIn` gave to it. The browser adds its cookie. Null: not signed in. */
  pageSecret?: () => string | null;
  /** Replaces the global `fetch`. With the `fetch` of an HTTP door the client needs no socket. */
  fetch?: (request: Request) => Promise<Response>;
}

/** Sends a request and returns the response. Throws an AptoveApiError for a refusal. */
export type SendRequest = <N extends RouteName>(name: N, options?: RequestOptions<N>) => Promise<Response>;

/** Sends a request and returns the JSON of the response. */
export type FetchJson = <N extends RouteName>(name: N, options?: RequestOptions<N>) => Promise<AnswerOf<N>>;

export function requestSender(connection: ServerConnection): SendRequest {
  const base = serverAddress(connection.url);
  const key = serverKey(connection.key);
  const fetch = connection.fetch ?? globalThis.fetch;
  return async (name, options = {}) => {
    const { method, path } = paths[name];
    const headers = new Headers({ ...credentialOf({ ...connection, key }), ...options.headers });
    headers.set("accept", options.accept ?? "application/json");
    const content = contentOf(options);
    if (content !== null) headers.set("content-type", content.mediaType);
    const request = new Request(
      base +
        fillPath(path, {
          ...(options.params as Record<string, string> | undefined),
          ...(options.id !== undefined && { id: options.id }),
        }) +
        queryString(options.query ?? {}),
      {
        method,
        headers,
        body: content?.bytes ?? null,
        signal: options.signal ?? null,
        ...(content?.bytes instanceof ReadableStream && { duplex: "half" }),
      },
    );
    const response = await reach(() => fetch(request), { url: connection.url, signal: options.signal });
    const isAnswer = response.ok || (options.readsUnavailable && response.status === 503 && isJson(response));
    if (!isAnswer) throw await apiErrorOf(response);
    return response;
  };
}

function credentialOf({
  key,
  pageSecret,
}: Pick<ServerConnection, "pageSecret"> & { key: string | undefined }): Record<string, string> {
  if (key !== undefined) return { authorization: `Bearer ${key}` };
  const secret = pageSecret?.() ?? null;
  return secret === null ? {} : { "x-aptove-page": secret };
}

function contentOf({ body, content }: RequestOptions<RouteName>): RequestContent | null {
  if (content !== undefined) return content;
  return body === undefined ? null : { mediaType: "application/json", bytes: JSON.stringify(body) };
}

/** Reads the JSON of a response. It checks only the media type and trusts the server for the content. */
export async function jsonOf<T>(response: Response): Promise<T> {
  if (!isJson(response))
    throw new AptoveApiError("answer_invalid", "the answer is not JSON", { status: response.status });
  return (await response.json()) as T;
}

function isJson({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("application/json") === true;
}

/** Throws `unreachable` if there is no answer. An abort is thrown unchanged. */
async function reach<T>(call: () => Promise<T>, to: { url: string; signal?: AbortSignal | undefined }): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (to.signal?.aborted) throw error;
    const why = reason(error);
    throw new AptoveApiError("unreachable", `no answer from ${to.url} (${why})`, {
      title: "The server cannot be reached",
      retryable: true,
      facts: { reason: why },
      cause: error,
    });
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause;
  if (cause instanceof Error) return "code" in cause ? String(cause.code) : cause.message;
  return error.message;
}

function fillPath(path: string, params: Record<string, string>): string {
  return Object.entries(params).reduce(
    (filled, [name, value]) => filled.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
}

function queryString(query: object): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [value].flat().map((one) => [name, String(one)]),
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}

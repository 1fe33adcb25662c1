/** One request of the client: a route by name, with types inferred from the route table. */
import { paths } from "../protocol/routes/paths.ts";
import type { RouteName } from "../protocol/routes/paths.ts";
import type { AnswerOf, BodyOf, ParamsOf, QueryOf } from "../protocol/routes/routes.ts";
import { AptoveApiError, apiErrorOf } from "./api-error.ts";

export interface SendOptions<N extends RouteName> {
  id?: string;
  /** Parameters of the path beside `{id}`. */
  params?: ParamsOf<N>;
  query?: QueryOf<N>;
  /** Sent as JSON. */
  body?: BodyOf<N>;
  /** Instead of `body`: something that is not JSON. */
  content?: Content;
  accept?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** A stream is read as it is sent, and so it is sent once only; browsers may want a Blob instead. */
export interface Content {
  mediaType: string;
  bytes: Blob | string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

export interface Connection {
  /** Address of the server, with or without a path before the routes. */
  url: string;
  /** The API key's secret. */
  key: string;
  /** Instead of the global fetch; a door's own `fetch` makes the client work without a socket. */
  fetch?: (request: Request) => Promise<Response>;
}

/** Gives the answer of a route, whatever it is; a refusal is thrown. */
export type Send = <N extends RouteName>(name: N, options?: SendOptions<N>) => Promise<Response>;

/** Gives the JSON answer of a route. */
export type Call = <N extends RouteName>(name: N, options?: SendOptions<N>) => Promise<AnswerOf<N>>;

export function sender(connection: Connection): Send {
  const base = connection.url.replace(/\/+$/, "");
  const fetch = connection.fetch ?? globalThis.fetch;
  return async (name, options = {}) => {
    const { method, path } = paths[name];
    const headers = new Headers({ authorization: `Bearer ${connection.key}`, ...options.headers });
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
    if (!response.ok) throw await apiErrorOf(response);
    return response;
  };
}

function contentOf({ body, content }: SendOptions<RouteName>): Content | null {
  if (content !== undefined) return content;
  return body === undefined ? null : { mediaType: "application/json", bytes: JSON.stringify(body) };
}

/** The JSON of an answer. What is checked is only that it is ours: the types are the server's promise. */
export async function jsonOf<T>(response: Response): Promise<T> {
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  if (!isJson) throw new AptoveApiError("answer_invalid", "the answer is not JSON", { status: response.status });
  return (await response.json()) as T;
}

/** An abort stays what it is; every other failure to get an answer is `unreachable`. */
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

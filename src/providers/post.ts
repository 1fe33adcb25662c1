/**
 * Sends one request over HTTP, in place of the platform's `fetch`. It needs a tenth of the time to start and a tenth of
 * the memory. It adds no headers, unpacks no response and follows no redirect.
 */
import type { IncomingMessage } from "node:http";

export interface HttpPostInit {
  method: "POST" | "GET";
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
  redirect: "manual";
}

/** The parts of a response that are read. */
export interface HttpPostResponse {
  status: number;
  headers: { get(name: string): string | null };
  body: AsyncIterable<Uint8Array> | null;
}

/** Sends a request. Rejects with the error of the network. `fetch` is such a function too. */
export type HttpPost = (url: string, init: HttpPostInit) => Promise<HttpPostResponse>;

export const post: HttpPost = (url, { method, headers, body, signal }) => {
  // An `import` would read every export of the module, and some of them load all of `fetch`.
  const { request: send } = url.startsWith("https:")
    ? process.getBuiltinModule("node:https")
    : process.getBuiltinModule("node:http");
  return new Promise((resolve, reject) => {
    const request = send(url, { method, headers, signal }, (answer) => resolve(answerOf(answer)));
    // It may also come later, when the promise is settled.
    request.on("error", reject);
    request.end(body);
  });
};

function answerOf(answer: IncomingMessage): HttpPostResponse {
  // A reader of the body gets the error from the body; the connection may also end while there is no reader.
  answer.on("error", () => undefined);
  return {
    status: answer.statusCode ?? 0,
    headers: {
      get: (name) => {
        const value = answer.headers[name.toLowerCase()];
        return Array.isArray(value) ? value.join(", ") : (value ?? null);
      },
    },
    body: answer,
  };
}

/**
 * The driver for Google's Gemini API, on plain `fetch` for the reasons of docs/decisions/0002. Gemini remembers
 * nothing here, so the whole history is sent every time (C1).
 */
import { mediaTaken } from "../../domain/models.ts";
import { createHttpConnection, type HttpProviderOptions } from "../http-connection.ts";
import { sendOverHttp } from "../http-call.ts";
import { wellFormedJson } from "../well-formed-json.ts";
import type { ModelCall, PreparedRequest, Provider } from "../provider.ts";
import { ChunkReader } from "./stream-reader.ts";
import { readErrorBody, refusalOf, retryDelayOf } from "./failures.ts";
import { googleBody } from "./request-body.ts";

export interface GoogleOptions extends HttpProviderOptions {
  /** The key under which it is configured; `google` by default. */
  name?: string;
  apiKey: string;
  /** With the version; `https://generativelanguage.googleapis.com/v1beta` by default. */
  baseUrl?: string;
  /** The default model, for example `gemini-3-flash`; or with its collection, as in `tunedModels/mine`. */
  model: string;
}

/** Throws `config_invalid` for options that cannot be used; never names the key (E8). */
export function googleProvider(options: GoogleOptions): Provider {
  const { name = "google", apiKey, baseUrl = "https://generativelanguage.googleapis.com/v1beta" } = options;
  // In a header: an address with the key in it would show up in logs.
  const connection = createHttpConnection({ ...options, name, baseUrl, fixedHeaders: { "x-goog-api-key": apiKey } });
  return {
    name,
    account: connection.account,
    defaultModel: options.model,
    remembers: false,
    takes: (model) => mediaTaken("google", model),
    prepare: (call) => prepare(call, name),
    send: (request, signal) =>
      sendOverHttp(
        {
          connection,
          url: `${connection.baseUrl}/${pathOf(request.model)}:streamGenerateContent?alt=sse`,
          request,
          reader: new ChunkReader(name, request),
          refusal: (status, body, retryAfterMs) => refusalOf(status, readErrorBody(body), retryAfterMs),
          retryAfterIn: (body) => retryDelayOf(readErrorBody(body)),
        },
        signal,
      ),
  };
}

function pathOf(model: string): string {
  const path = model.includes("/") ? model : `models/${model}`;
  return path.split("/").map(encodeURIComponent).join("/");
}

function prepare(call: ModelCall, name: string): PreparedRequest {
  const { body, droppedReasoning } = googleBody(call, name);
  const dropped = droppedReasoning === 0 ? [] : [{ kind: "reasoning" as const, count: droppedReasoning }];
  return { model: call.model, body: wellFormedJson(body), dropped };
}

/**
 * The driver for any server that speaks OpenAI's chat completions: Ollama, vLLM, llama.cpp, LM Studio, and hosted
 * ones. Such a server remembers nothing, so the whole history is sent every time (C1).
 */
import { mediaTaken } from "../../domain/models.ts";
import { createHttpConnection, type HttpConnection, type HttpProviderOptions } from "../http-connection.ts";
import { sendOverHttp } from "../http-call.ts";
import { wellFormedJson } from "../well-formed-json.ts";
import type { ModelCall, PreparedRequest, Provider } from "../provider.ts";
import { ChunkReader } from "./stream-reader.ts";
import { readErrorBody, refusalOf } from "./failures.ts";
import { chatBody } from "./request-body.ts";

export interface CompatibleOptions extends HttpProviderOptions {
  /** The key under which it is configured, for example `ollama`. */
  name: string;
  /** Without one no `authorization` is sent; most servers of one's own ask for none. */
  apiKey?: string;
  /** With the version, for example `http://127.0.0.1:11434/v1`. */
  baseUrl: string;
  /** The default model. */
  model: string;
}

/** Throws `config_invalid` for options that cannot be used; never names the key (E8). */
export function compatibleProvider(options: CompatibleOptions): Provider {
  const connection = connectTo(options);
  const { name, account, baseUrl } = connection;
  const hasKey = options.apiKey !== undefined;
  return {
    name,
    account,
    defaultModel: options.model,
    remembers: false,
    takes: (model) => mediaTaken("compatible", model),
    prepare: (call) => prepare(call, name),
    send: (request, signal) =>
      sendOverHttp(
        {
          connection,
          url: `${baseUrl}/chat/completions`,
          request,
          reader: new ChunkReader(name, request),
          refusal: (status, body, retryAfterMs) =>
            refusalOf({ status, error: readErrorBody(body), retryAfterMs, model: request.model, hasKey }),
          mend: `is the server running, and is ${baseUrl} its address? (Ollama: ollama serve)`,
        },
        signal,
      ),
  };
}

function connectTo({ apiKey, ...options }: CompatibleOptions): HttpConnection {
  return createHttpConnection({
    ...options,
    apiKey: apiKey ?? null,
    fixedHeaders: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
  });
}

function prepare(call: ModelCall, name: string): PreparedRequest {
  const { body, droppedReasoning } = chatBody(call, name);
  const dropped = droppedReasoning === 0 ? [] : [{ kind: "reasoning" as const, count: droppedReasoning }];
  return { model: call.model, body: wellFormedJson(body), dropped };
}

/**
 * The driver for OpenAI's Responses API, on plain `fetch`: the bytes that `prepare` gives are the bytes on the
 * wire (E7, D3). docs/decisions/0002 says why there is no SDK in between.
 */
import { mediaTaken } from "../../domain/models.ts";
import { createHttpConnection, type HttpConnection, type HttpProviderOptions } from "../http-connection.ts";
import { sendOverHttp } from "../http-call.ts";
import type { ModelCall, PreparedRequest, Provider } from "../provider.ts";
import { readErrorBody, refusalOf } from "./failures.ts";
import { responsesBody } from "./request-body.ts";
import { ResponseReader } from "./stream-reader.ts";

/** An extra header may be, for example, `OpenAI-Project`. */
export interface OpenAIOptions extends HttpProviderOptions {
  /** The key under which it is configured; `openai` by default. */
  name?: string;
  apiKey: string;
  /** With the version, for example `https://eu.api.openai.com/v1`. */
  baseUrl?: string;
  /** The default model. */
  model: string;
  organization?: string;
}

/** Throws `config_invalid` for options that cannot be used; never names the key (E8). */
export function openaiProvider(options: OpenAIOptions): Provider {
  const connection = connectTo(options);
  const { name, account } = connection;
  return {
    name,
    // A remembered response is found again only with the same server, organization, project and key (C2).
    account,
    defaultModel: options.model,
    remembers: true,
    takes: (model) => mediaTaken("openai", model),
    prepare: (call) => prepare(call, name),
    send: (request, signal) =>
      sendOverHttp(
        {
          connection,
          url: `${connection.baseUrl}/responses`,
          request,
          reader: new ResponseReader(name, request.model),
          refusal: (status, body, retryAfterMs) => refusalOf(status, readErrorBody(body), retryAfterMs),
        },
        signal,
      ),
  };
}

function connectTo(options: OpenAIOptions): HttpConnection {
  const { name = "openai", apiKey, baseUrl = "https://api.openai.com/v1", organization } = options;
  return createHttpConnection({
    ...options,
    name,
    baseUrl,
    defaultHeaders: organization === undefined ? {} : { "openai-organization": organization },
    fixedHeaders: { authorization: `Bearer ${apiKey}` },
  });
}

function prepare(call: ModelCall, name: string): PreparedRequest {
  const { body, droppedReasoning } = responsesBody(call, name);
  const dropped = droppedReasoning === 0 ? [] : [{ kind: "reasoning" as const, count: droppedReasoning }];
  return { model: call.model, body: JSON.stringify(body), dropped };
}

/**
 * The driver for Anthropic's Messages API, on plain `fetch`: the bytes that `prepare` gives are the bytes on the
 * wire (E7, D3). The API remembers nothing, so every call is a replay (C1).
 */
import { mediaTaken } from "../../domain/models.ts";
import { createHttpConnection, type HttpConnection, type HttpProviderOptions } from "../http-connection.ts";
import { sendOverHttp } from "../http-call.ts";
import type { ModelCall, PreparedRequest, Provider } from "../provider.ts";
import { readErrorBody, refusalOf } from "./failures.ts";
import { MessageReader } from "./stream-reader.ts";
import { type BodyOptions, messagesBody } from "./request-body.ts";

export interface AnthropicOptions extends HttpProviderOptions {
  /** The key under which it is configured; `anthropic` by default. */
  name?: string;
  apiKey: string;
  /** Without the version; `https://api.anthropic.com` by default. */
  baseUrl?: string;
  /** The default model. */
  model: string;
  /** In tokens, thinking included, where the settings say nothing: the wire demands a limit. */
  maxOutputTokens?: number;
}

/** What the types of the installed `@anthropic-ai/sdk` describe. */
const apiVersion = "2026-10-21";

/** Lets a request say what happens to thinking whose conversation has changed; `thinking.ts` says why. */
const beta = "thinking-binding-controls-2026-08-01";

/** Every model that is offered takes as much. */
const maxOutputTokensDefault = 32_000;

/** Throws `config_invalid` for options that cannot be used; never names the key (E8). */
export function anthropicProvider(options: AnthropicOptions): Provider {
  const connection = connectTo(options);
  const { name, account } = connection;
  const bodyOptions = { providerName: name, maxOutputTokens: options.maxOutputTokens ?? maxOutputTokensDefault };
  return {
    name,
    account,
    defaultModel: options.model,
    remembers: false,
    takes: (model) => mediaTaken("anthropic", model),
    prepare: (call) => prepare(call, bodyOptions),
    send: (request, signal) =>
      sendOverHttp(
        {
          connection,
          url: `${connection.baseUrl}/v1/messages`,
          request,
          reader: new MessageReader(name, request),
          refusal: (status, body, retryAfterMs) => refusalOf(status, readErrorBody(body), retryAfterMs),
        },
        signal,
      ),
  };
}

function connectTo(options: AnthropicOptions): HttpConnection {
  const { name = "anthropic", apiKey, baseUrl = "https://api.anthropic.com", headers = {} } = options;
  const betas = Object.entries(headers).filter(([header]) => header.toLowerCase() === "anthropic-beta");
  return createHttpConnection({
    ...options,
    name,
    baseUrl: baseUrl.replace(/\/v1\/*$/, ""),
    defaultHeaders: { "anthropic-version": apiVersion },
    fixedHeaders: { "x-api-key": apiKey, "anthropic-beta": [beta, ...betas.map(([, value]) => value)].join(",") },
  });
}

function prepare(call: ModelCall, options: BodyOptions): PreparedRequest {
  const { body, droppedReasoning } = messagesBody(call, options);
  const dropped = droppedReasoning === 0 ? [] : [{ kind: "reasoning" as const, count: droppedReasoning }];
  return { model: call.model, body: JSON.stringify(body), dropped };
}

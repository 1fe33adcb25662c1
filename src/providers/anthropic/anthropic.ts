/**
 * The driver for Anthropic's Messages API. The bytes that `prepare` makes are the bytes on the wire (E7, D3). The API
 * remembers nothing, so every call is a replay (C1).
 */
import { createHttpConnection, type HttpConnection, type HttpProviderOptions } from "../http-connection.ts";
import { httpProvider } from "../http-provider.ts";
import type { Provider } from "../provider.ts";
import { anthropicErrors } from "./failures.ts";
import { anthropicBody } from "./request-body.ts";
import { anthropicAnswers } from "./stream-reader.ts";

/** `baseUrl` is without the version; `https://api.anthropic.com` by default. */
export interface AnthropicOptions extends HttpProviderOptions {
  apiKey: string;
  /** The limit in tokens, including thinking, for calls whose settings have none: the wire demands a limit. */
  maxOutputTokens?: number;
}

/** The version that the types of the installed `@anthropic-ai/sdk` describe. */
const apiVersion = "2026-10-21";

/** Allows a request to say what happens to thinking whose conversation has changed; see `thinking.ts`. */
const beta = "thinking-binding-controls-2026-08-01";

/** Every model that is offered allows this many. */
const maxOutputTokensDefault = 32_000;

/** Throws `config_invalid` for options that cannot be used. The error never shows the key (E8). */
export function anthropicProvider(options: AnthropicOptions): Provider {
  const connection = connectTo(options);
  const { maxOutputTokens = maxOutputTokensDefault } = options;
  return httpProvider({
    wire: "anthropic",
    connection,
    defaultModel: options.model,
    remembers: false,
    modelsPath: "/v1/models?limit=1000",
    pathFor: () => "/v1/messages",
    bodyFor: (call) => anthropicBody(call, { providerName: connection.name, maxOutputTokens }),
    answers: anthropicAnswers,
    errors: anthropicErrors,
  });
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

/**
 * The driver for OpenAI's Responses API. docs/decisions/0002 says why it uses no SDK: the bytes that `prepare` makes
 * are the bytes on the wire (E7, D3).
 */
import { createHttpConnection, type HttpConnection, type HttpProviderOptions } from "../http-connection.ts";
import { httpProvider } from "../http-provider.ts";
import type { Provider } from "../provider.ts";
import { openaiErrors } from "./failures.ts";
import { openaiBody } from "./request-body.ts";
import { openaiAnswers } from "./stream-reader.ts";

/** `baseUrl` includes the version, as in `https://eu.api.openai.com/v1`. An extra header may be `OpenAI-Project`. */
export interface OpenAIOptions extends HttpProviderOptions {
  apiKey: string;
  organization?: string;
}

/** Throws `config_invalid` for options that cannot be used. The error never shows the key (E8). */
export function openaiProvider(options: OpenAIOptions): Provider {
  const connection = connectTo(options);
  return httpProvider({
    wire: "openai",
    // A remembered response is found again only with the same server, organization, project and key (C2).
    connection,
    defaultModel: options.model,
    remembers: true,
    ranks: true,
    modelsPath: "/models",
    pathFor: () => "/responses",
    bodyFor: (call) => openaiBody(call, connection.name),
    answers: openaiAnswers,
    errors: openaiErrors,
  });
}

function connectTo(options: OpenAIOptions): HttpConnection {
  const { organization } = options;
  return createHttpConnection({
    ...options,
    name: options.name ?? "openai",
    baseUrl: options.baseUrl ?? "https://api.openai.com/v1",
    defaultHeaders: organization === undefined ? {} : { "openai-organization": organization },
    fixedHeaders: { authorization: `Bearer ${options.apiKey}` },
  });
}

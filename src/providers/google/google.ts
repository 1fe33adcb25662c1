/**
 * The driver for Google's Gemini API. Gemini remembers nothing here, so the whole history is sent every time (C1).
 */
import { createHttpConnection, type HttpProviderOptions } from "../http-connection.ts";
import { httpProvider } from "../http-provider.ts";
import type { Provider } from "../provider.ts";
import { googleErrors } from "./failures.ts";
import { googleBody } from "./request-body.ts";
import { googleAnswers } from "./stream-reader.ts";

/**
 * `baseUrl` includes the version; `https://generativelanguage.googleapis.com/v1beta` by default. `model` is a name such
 * as `gemini-3-flash`, or a name with its collection, such as `tunedModels/mine`.
 */
export interface GoogleOptions extends HttpProviderOptions {
  apiKey: string;
}

/** Throws `config_invalid` for options that cannot be used. The error never shows the key (E8). */
export function googleProvider(options: GoogleOptions): Provider {
  const { name = "google", apiKey, baseUrl = "https://generativelanguage.googleapis.com/v1beta" } = options;
  // The key is in a header: a URL with the key in it would appear in logs.
  const connection = createHttpConnection({ ...options, name, baseUrl, fixedHeaders: { "x-goog-api-key": apiKey } });
  return httpProvider({
    wire: "google",
    connection,
    defaultModel: options.model,
    remembers: false,
    modelsPath: "/models?pageSize=1000",
    pathFor: (model) => `/${pathOf(model)}:streamGenerateContent?alt=sse`,
    bodyFor: (call) => googleBody(call, name),
    answers: googleAnswers,
    errors: googleErrors,
  });
}

function pathOf(model: string): string {
  const path = model.includes("/") ? model : `models/${model}`;
  return path.split("/").map(encodeURIComponent).join("/");
}

/**
 * The driver for any server that implements OpenAI's chat completions: Ollama, vLLM, llama.cpp, LM Studio, and hosted
 * ones. Such a server remembers nothing, so the whole history is sent every time (C1).
 */
import { createHttpConnection, type HttpProviderOptions } from "../http-connection.ts";
import { httpProvider } from "../http-provider.ts";
import type { Provider } from "../provider.ts";
import { compatibleErrors } from "./failures.ts";
import { compatibleBody } from "./request-body.ts";
import { compatibleAnswers } from "./stream-reader.ts";

/**
 * `name` is, for example, `ollama`; `baseUrl` includes the version, as in `http://127.0.0.1:11434/v1`. Without `apiKey`
 * no `authorization` is sent: most servers that people run themselves require none.
 */
export interface CompatibleOptions extends HttpProviderOptions {
  name: string;
  baseUrl: string;
}

/** Throws `config_invalid` for options that cannot be used. The error never shows the key (E8). */
export function compatibleProvider(options: CompatibleOptions): Provider {
  const { apiKey } = options;
  const fixedHeaders: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const connection = createHttpConnection({ ...options, fixedHeaders });
  return httpProvider({
    wire: "compatible",
    connection,
    defaultModel: options.model,
    remembers: false,
    modelsPath: "/models",
    pathFor: () => "/chat/completions",
    bodyFor: (call) => compatibleBody(call, connection.name),
    answers: compatibleAnswers,
    errors: compatibleErrors,
    unreachableHint: `is the server running, and is ${connection.baseUrl} its address? (Ollama: ollama serve)`,
  });
}

/** The keys of the section `[providers]` of the configuration: one table for each built-in provider, and those of compatible servers. */
import {
  apiAddressField,
  modelWindowsField,
  namedField,
  numberField,
  secretKeyField,
  tableField,
  text,
  type ConfigField,
} from "./config-forms.ts";
import type { ConfiguredProviders } from "./configured-providers.ts";

const providerModel = "Model to call if nothing else names one.";
const keyVariable = "Environment variable that holds the key.";

/** A new provider that can be configured has its keys here, or this does not compile. */
const keysOf: Record<keyof ConfiguredProviders, ConfigField> = {
  openai: tableField("OpenAI, or a server with the same Responses API.", {
    api_key: secretKeyField(),
    api_key_env: text(keyVariable, "OPENAI_API_KEY"),
    base_url: apiAddressField("Address of the API.", "https://api.openai.com/v1", { env: "OPENAI_BASE_URL" }),
    model: text(providerModel, "gpt-6.2-sol"),
    context_tokens: modelWindowsField("gpt-6-mini"),
    organization: text("Organisation to bill.", "org-..."),
  }),
  anthropic: tableField("Anthropic, or a server with the same Messages API.", {
    api_key: secretKeyField(),
    api_key_env: text(keyVariable, "ANTHROPIC_API_KEY"),
    base_url: apiAddressField("Address of the API.", "https://api.anthropic.com", { env: "ANTHROPIC_BASE_URL" }),
    model: text(providerModel, "claude-sonnet-5"),
    context_tokens: modelWindowsField("claude-haiku-6"),
    max_output_tokens: numberField(
      "Maximum length of an answer in tokens, if no other setting limits it. This API requires a limit.",
      {
        sample: 32_000,
        min: 1,
        max: 10_000_000,
      },
    ),
  }),
  google: tableField("Google's Gemini API.", {
    api_key: secretKeyField(),
    api_key_env: text(keyVariable, "GEMINI_API_KEY"),
    base_url: apiAddressField(
      "Address of the API, including its version.",
      "https://generativelanguage.googleapis.com/v1beta",
    ),
    model: text(providerModel, "gemini-3.8-flash"),
    context_tokens: modelWindowsField("gemini-4-pro"),
  }),
  compatible: namedField(
    "A server with OpenAI's chat completions API. Its name here is its name as a provider.",
    "ollama",
    {
      base_url: apiAddressField("Address of the API, including its version.", "http://127.0.0.1:11434/v1"),
      model: text(providerModel, "qwen3-coder"),
      context_tokens: modelWindowsField("qwen3-coder"),
      api_key: secretKeyField(),
      api_key_env: text(keyVariable, "OLLAMA_API_KEY"),
    },
  ),
  offline: tableField("The built-in model, which needs no network.", {
    delay_ms: numberField("Pause between two words of the answer, in milliseconds.", {
      sample: 0,
      min: 0,
      max: 60_000,
      env: "APTOVE_OFFLINE_DELAY_MS",
    }),
  }),
};

/** The section `[providers]`. */
export const providerTables = tableField("", keysOf);

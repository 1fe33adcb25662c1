/**
 * Checks whether a configured provider answers and accepts its key, with the cheapest call that there is: its list of
 * models. It costs no tokens.
 */
import { networkReason } from "../../providers/exchange-guard.ts";
import type { ProviderAnswer } from "../../inspection/checks.ts";
import type { ConfiguredProviders, KeyedName } from "../../configuration/configured-providers.ts";

interface ModelList {
  url: string;
  headers: Record<string, string>;
  /** The name of the variable that holds the key. Null: the provider needs none. */
  keyVariable: string | null;
}

const answerMs = 8_000;

/** Returns null for a provider without an address to check: the offline model, or one that the caller gave. */
export async function checkProvider(providers: ConfiguredProviders, name: string): Promise<ProviderAnswer | null> {
  const list = modelListOf(providers, name);
  if (list === null) return null;
  try {
    const response = await fetch(list.url, {
      headers: list.headers,
      // A key must not follow to another address.
      redirect: "manual",
      signal: AbortSignal.timeout(answerMs),
    });
    const text = response.ok ? "" : await response.text();
    return judge(list, response.status, text);
  } catch (error) {
    const { host } = new URL(list.url);
    return {
      fault: `cannot be reached at ${host}: ${networkReason(error)}`,
      fix: "check the network and base_url: aptove config show",
      isUnsure: false,
    };
  }
}

function judge({ url, keyVariable }: ModelList, status: number, text: string): ProviderAnswer {
  const fine = { fault: null, fix: null, isUnsure: false };
  const { host } = new URL(url);
  // Google answers a wrong key with 400.
  const isKeyWrong = status === 401 || status === 403 || (status === 400 && /api.?key/i.test(text));
  if (isKeyWrong) {
    const fault = keyVariable === null ? `${host} wants a key` : `${host} does not accept the key`;
    const fix = keyVariable === null ? "set api_key for it in config.toml" : `set another one in ${keyVariable}`;
    return { fault, fix, isUnsure: false };
  }
  // A limited rate is an answer too.
  if (status < 300 || status === 429) return fine;
  if (status >= 500) return { ...fine, fault: `${host} answers with ${status}`, fix: "try again later" };
  return { ...fine, isUnsure: true };
}

const builtIn: {
  [Name in KeyedName]: (settings: ConfiguredProviders[Name], key: string) => Omit<ModelList, "keyVariable">;
} = {
  openai: ({ baseUrl, organization }, key) => ({
    url: `${trimmed(baseUrl ?? "https://api.openai.com/v1")}/models`,
    headers: { authorization: `Bearer ${key}`, ...(organization !== null && { "openai-organization": organization }) },
  }),
  anthropic: ({ baseUrl }, key) => ({
    url: `${trimmed(baseUrl ?? "https://api.anthropic.com").replace(/\/v1$/, "")}/v1/models?limit=1`,
    headers: { "x-api-key": key, "anthropic-version": "2023-06-01" },
  }),
  google: ({ baseUrl }, key) => ({
    url: `${trimmed(baseUrl ?? "https://generativelanguage.googleapis.com/v1beta")}/models?pageSize=1`,
    headers: { "x-goog-api-key": key },
  }),
};

function modelListOf(providers: ConfiguredProviders, name: string): ModelList | null {
  if (name === "openai" || name === "anthropic" || name === "google") return builtInList(providers, name);
  const server = providers.compatible.find(({ id }) => id === name);
  if (server === undefined || server.baseUrl === null) return null;
  const { apiKey, apiKeyEnv, baseUrl } = server;
  const headers: Record<string, string> = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
  return { url: `${trimmed(baseUrl)}/models`, headers, keyVariable: apiKeyEnv };
}

function builtInList<Name extends KeyedName>(providers: ConfiguredProviders, name: Name): ModelList | null {
  const settings = providers[name];
  if (settings.apiKey === null) return null;
  return { ...builtIn[name](settings, settings.apiKey), keyVariable: settings.apiKeyEnv };
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, "");
}

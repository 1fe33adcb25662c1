/** The strict fakes of all providers, and the configuration that leads to them. */
import type { TestContext } from "node:test";
import { startFakeAnthropic } from "./fake-anthropic/fake-anthropic.ts";
import { startFakeCompatible } from "./fake-compatible/fake-compatible.ts";
import { startFakeGoogle } from "./fake-google/fake-google.ts";
import { startFakeOpenai } from "./fake-openai/fake-openai.ts";

/** A model of each provider, as a request names it. */
export const everyModel = {
  openai: "openai/gpt-5.1",
  anthropic: "anthropic/claude-opus-5-5",
  google: "google/gemini-3-flash",
  local: "local/qwen3:8b",
};
export type EveryProvider = keyof typeof everyModel;

export async function everyProvider(t: TestContext) {
  const [openai, anthropic, google, local] = await Promise.all([
    startFakeOpenai(),
    startFakeAnthropic(),
    startFakeGoogle(),
    startFakeCompatible(),
  ]);
  const fakes = { openai, anthropic, google, local };
  t.after(() => Promise.all(Object.values(fakes).map((fake) => fake.close())));
  const providers = {
    openai: { api_key: "sk-1", base_url: openai.url },
    anthropic: { api_key: "sk-2", base_url: anthropic.url },
    google: { api_key: "key-3", base_url: google.url },
    compatible: { local: { base_url: local.url, model: "qwen3:8b" } },
  };
  return { fakes, overrides: { providers, conversation_contexts: { default: { retrieval: "off" } } } };
}

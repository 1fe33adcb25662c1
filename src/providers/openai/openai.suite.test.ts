/** The driver keeps the contract, on the real wire against the strict fake. */
import { startFakeOpenai } from "../../../testing/fake-openai/fake-openai.ts";
import type { FakeOutput } from "../../../testing/fake-openai/replies.ts";
import { unusedAddress } from "../../../testing/fake-server/other-servers.ts";
import { playScene, type SceneOutputs } from "../../../testing/provider-exchange.ts";
import { type OpenProvider, providerSuite } from "../provider.suite.ts";
import { openaiProvider } from "./openai.ts";

const apiKey = "sk-test-0123456789";
const outputs: SceneOutputs<FakeOutput> = {
  text: { type: "message", text: "one two three" },
  toolCall: { type: "function_call", name: "lookup", arguments: '{"key": "a"}' },
  eventsBeforeStop: 6,
};

providerSuite("openai", async (context, scene) => {
  if (scene === "unreachable") return providerAt(`${await unusedAddress()}/v1`);
  return providerAt(playScene(await startFakeOpenai({ apiKey }), { scene, context }, outputs).url);
});

function providerAt(baseUrl: string): OpenProvider {
  return { provider: openaiProvider({ apiKey, baseUrl, model: "gpt-test" }), secrets: [apiKey] };
}

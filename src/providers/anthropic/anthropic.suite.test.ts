/** The driver keeps the contract, on the real wire against the strict fake. */
import { startFakeAnthropic } from "../../../testing/fake-anthropic/fake-anthropic.ts";
import type { FakeOutput } from "../../../testing/fake-anthropic/replies.ts";
import { unusedAddress } from "../../../testing/fake-server/other-servers.ts";
import { playScene, type SceneOutputs } from "../../../testing/provider-exchange.ts";
import { type OpenProvider, providerSuite } from "../provider.suite.ts";
import { anthropicProvider } from "./anthropic.ts";

const apiKey = "sk-ant-test-0123456789";
const outputs: SceneOutputs<FakeOutput> = {
  text: { type: "text", text: "one two three" },
  toolCall: { type: "tool_use", name: "lookup", input: '{"key": "a"}' },
  eventsBeforeStop: 5,
};

providerSuite("anthropic", async (context, scene) => {
  if (scene === "unreachable") return providerAt(await unusedAddress());
  return providerAt(playScene(await startFakeAnthropic({ apiKey }), { scene, context }, outputs).url);
});

function providerAt(baseUrl: string): OpenProvider {
  return { provider: anthropicProvider({ apiKey, baseUrl, model: "claude-test" }), secrets: [apiKey] };
}

/** The driver keeps the contract, on the real wire against the strict fake. */
import { startFakeCompatible } from "../../../testing/fake-compatible/fake-compatible.ts";
import type { FakeOutput } from "../../../testing/fake-compatible/replies.ts";
import { unusedAddress } from "../../../testing/fake-server/other-servers.ts";
import { playScene, type SceneOutputs } from "../../../testing/provider-exchange.ts";
import { type OpenProvider, providerSuite } from "../provider.suite.ts";
import { compatibleProvider } from "./compatible.ts";

const apiKey = "local-key-0123456789";
const outputs: SceneOutputs<FakeOutput> = {
  text: { type: "text", text: "one two three" },
  toolCall: { type: "call", name: "lookup", arguments: '{"key": "a"}' },
  eventsBeforeStop: 3,
};

providerSuite("compatible", async (context, scene) => {
  if (scene === "unreachable") return providerAt(`${await unusedAddress()}/v1`);
  return providerAt(playScene(await startFakeCompatible({ apiKey }), { scene, context }, outputs).url);
});

function providerAt(baseUrl: string): OpenProvider {
  const provider = compatibleProvider({ name: "local", apiKey, baseUrl, model: "qwen3:8b" });
  return { provider, secrets: [apiKey] };
}

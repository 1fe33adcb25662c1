/** The driver keeps the contract, on the real wire against the strict fake. */
import { startFakeGoogle } from "../../../testing/fake-google/fake-google.ts";
import type { FakeOutput } from "../../../testing/fake-google/replies.ts";
import { unusedAddress } from "../../../testing/fake-server/other-servers.ts";
import { playScene, type SceneOutputs } from "../../../testing/provider-exchange.ts";
import { type OpenProvider, providerSuite } from "../provider.suite.ts";
import { googleProvider } from "./google.ts";

const apiKey = "AIza-test-0123456789";
const outputs: SceneOutputs<FakeOutput> = {
  text: { type: "text", text: "one two three" },
  toolCall: { type: "call", name: "lookup", args: { key: "a" } },
  eventsBeforeStop: 2,
};

providerSuite("google", async (context, scene) => {
  if (scene === "unreachable") return providerAt(`${await unusedAddress()}/v1beta`);
  return providerAt(playScene(await startFakeGoogle({ apiKey }), { scene, context }, outputs).url);
});

function providerAt(baseUrl: string): OpenProvider {
  return { provider: googleProvider({ apiKey, baseUrl, model: "gemini-3-flash" }), secrets: [apiKey] };
}

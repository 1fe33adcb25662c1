/** The driver keeps the contract, on the real wire against the strict fake. */
import type { TestContext } from "node:test";
import { type FakeCompatible, startFakeCompatible } from "../../../testing/fake-compatible/fake-compatible.ts";
import { garbage } from "../../../testing/fake-server/deliver.ts";
import { nobodyThere } from "../../../testing/fake-server/other-servers.ts";
import { type OpenProvider, providerSuite, type ProviderScene } from "../provider.suite.ts";
import { compatibleProvider } from "./compatible.ts";

const apiKey = "local-key-0123456789";

providerSuite("compatible", async (context, scene) => {
  if (scene === "unreachable") return providerAt(`${await nobodyThere()}/v1`);
  return providerAt((await fakeIn(scene, context)).url);
});

function providerAt(baseUrl: string): OpenProvider {
  const provider = compatibleProvider({ name: "local", apiKey, baseUrl, model: "qwen3:8b" });
  return { provider, secrets: [apiKey] };
}

async function fakeIn(scene: Exclude<ProviderScene, "unreachable">, context: TestContext): Promise<FakeCompatible> {
  const fake = await startFakeCompatible({ apiKey });
  const held = Promise.withResolvers<void>();
  context.after(async () => {
    held.resolve();
    await fake.close();
  });
  const text = { type: "text" as const, text: "one two three" };
  switch (scene) {
    case "text":
      break;
    case "tool_call":
      fake.answer(() => ({ output: [{ type: "call", name: "lookup", arguments: '{"key": "a"}' }] }));
      break;
    case "held":
      fake.answer(() => ({ output: [text], hold: { afterEvents: 3, until: held.promise } }));
      break;
    case "cut":
      fake.answer(() => ({ output: [text], cut: { afterEvents: 3, how: "end" } }));
      break;
    case "garbage":
      fake.answer(() => garbage());
      break;
  }
  return fake;
}

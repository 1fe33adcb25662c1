/** The driver keeps the contract, on the real wire against the strict fake. */
import type { TestContext } from "node:test";
import { type FakeAnthropic, startFakeAnthropic } from "../../../testing/fake-anthropic/fake-anthropic.ts";
import { garbage } from "../../../testing/fake-server/deliver.ts";
import { nobodyThere } from "../../../testing/fake-server/other-servers.ts";
import { type OpenProvider, providerSuite, type ProviderScene } from "../provider.suite.ts";
import { anthropicProvider } from "./anthropic.ts";

const apiKey = "sk-ant-test-0123456789";

providerSuite("anthropic", async (context, scene) => {
  if (scene === "unreachable") return providerAt(await nobodyThere());
  return providerAt((await fakeIn(scene, context)).url);
});

function providerAt(baseUrl: string): OpenProvider {
  return { provider: anthropicProvider({ apiKey, baseUrl, model: "claude-test" }), secrets: [apiKey] };
}

async function fakeIn(scene: Exclude<ProviderScene, "unreachable">, context: TestContext): Promise<FakeAnthropic> {
  const fake = await startFakeAnthropic({ apiKey });
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
      fake.answer(() => ({ output: [{ type: "tool_use", name: "lookup", input: '{"key": "a"}' }] }));
      break;
    case "held":
      fake.answer(() => ({ output: [text], hold: { afterEvents: 5, until: held.promise } }));
      break;
    case "cut":
      fake.answer(() => ({ output: [text], cut: { afterEvents: 5, how: "end" } }));
      break;
    case "garbage":
      fake.answer(() => garbage());
      break;
  }
  return fake;
}

/** The driver keeps the contract, on the real wire against the strict fake. */
import type { TestContext } from "node:test";
import { type FakeOpenAI, startFakeOpenai } from "../../../testing/fake-openai/fake-openai.ts";
import { garbage } from "../../../testing/fake-server/deliver.ts";
import { nobodyThere } from "../../../testing/fake-server/other-servers.ts";
import { type OpenProvider, providerSuite, type ProviderScene } from "../provider.suite.ts";
import { openaiProvider } from "./openai.ts";

const apiKey = "sk-test-0123456789";

providerSuite("openai", async (context, scene) => {
  if (scene === "unreachable") return providerAt(`${await nobodyThere()}/v1`);
  return providerAt((await fakeIn(scene, context)).url);
});

function providerAt(baseUrl: string): OpenProvider {
  return { provider: openaiProvider({ apiKey, baseUrl, model: "gpt-test" }), secrets: [apiKey] };
}

async function fakeIn(scene: Exclude<ProviderScene, "unreachable">, context: TestContext): Promise<FakeOpenAI> {
  const fake = await startFakeOpenai({ apiKey });
  const held = Promise.withResolvers<void>();
  context.after(async () => {
    held.resolve();
    await fake.close();
  });
  const message = { type: "message" as const, text: "one two three" };
  switch (scene) {
    case "text":
      break;
    case "tool_call":
      fake.answer(() => ({ output: [{ type: "function_call", name: "lookup", arguments: '{"key": "a"}' }] }));
      break;
    case "held":
      fake.answer(() => ({ output: [message], hold: { afterEvents: 6, until: held.promise } }));
      break;
    case "cut":
      fake.answer(() => ({ output: [message], cut: { afterEvents: 6, how: "end" } }));
      break;
    case "garbage":
      fake.answer(() => garbage());
      break;
  }
  return fake;
}

/** The driver keeps the contract, on the real wire against the strict fake. */
import type { TestContext } from "node:test";
import { type FakeGoogle, startFakeGoogle } from "../../../testing/fake-google/fake-google.ts";
import { garbage } from "../../../testing/fake-server/deliver.ts";
import { nobodyThere } from "../../../testing/fake-server/other-servers.ts";
import { type OpenProvider, providerSuite, type ProviderScene } from "../provider.suite.ts";
import { googleProvider } from "./google.ts";

const apiKey = "AIza-test-0123456789";

providerSuite("google", async (context, scene) => {
  if (scene === "unreachable") return providerAt(`${await nobodyThere()}/v1beta`);
  return providerAt((await fakeIn(scene, context)).url);
});

function providerAt(baseUrl: string): OpenProvider {
  return { provider: googleProvider({ apiKey, baseUrl, model: "gemini-3-flash" }), secrets: [apiKey] };
}

async function fakeIn(scene: Exclude<ProviderScene, "unreachable">, context: TestContext): Promise<FakeGoogle> {
  const fake = await startFakeGoogle({ apiKey });
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
      fake.answer(() => ({ output: [{ type: "call", name: "lookup", args: { key: "a" } }] }));
      break;
    case "held":
      fake.answer(() => ({ output: [text], hold: { afterEvents: 2, until: held.promise } }));
      break;
    case "cut":
      fake.answer(() => ({ output: [text], cut: { afterEvents: 2, how: "end" } }));
      break;
    case "garbage":
      fake.answer(() => garbage());
      break;
  }
  return fake;
}

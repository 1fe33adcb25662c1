/** A server of aptove behind OpenAI's API, whose model does what it is asked. */
import type { TestContext } from "node:test";
import { listen } from "../../src/doors/http/listen.ts";
import { scriptedProvider } from "../../src/providers/scripted/scripted.ts";
import { testOpenAi, type OpenAiTest } from "../openai-door.ts";
import { obligingModel } from "./obliging-model.ts";

export interface ServedOpenAi extends OpenAiTest {
  /** The address with `/v1`. */
  baseUrl: string;
  key: string;
}

export async function servedOpenAi(t: TestContext): Promise<ServedOpenAi> {
  const provider = scriptedProvider({ script: obligingModel, isRecording: false });
  const tested = await testOpenAi(t, { provider: { ...provider, takes: () => ["image/png", "application/pdf"] } });
  const server = await listen(tested.door, { host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  return { ...tested, baseUrl: `${server.url}/v1`, key: tested.admin.key };
}

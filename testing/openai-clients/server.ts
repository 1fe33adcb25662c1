/** A server of aptove behind OpenAI's API, whose model does what it is asked. */
import { join } from "node:path";
import type { TestContext } from "node:test";
import { listen } from "../../src/doors/http/listen.ts";
import { scriptedProvider } from "../../src/providers/scripted/scripted.ts";
import { openEmbeddedStore } from "../../src/embedded/embedded-store.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { testOpenAi, type OpenAiTest } from "../openai-door.ts";
import { obligingModel } from "./obliging-model.ts";

export interface ServedOpenAi extends OpenAiTest {
  /** The address with `/v1`. */
  baseUrl: string;
  key: string;
}

export async function servedOpenAi(t: TestContext): Promise<ServedOpenAi> {
  const provider = scriptedProvider({ script: obligingModel, isRecording: false });
  // The stores of a data folder, as people have them.
  const folder = await temporaryFolder(t);
  const { records, blobs, turnStore } = await openEmbeddedStore({ file: join(folder, "records.db") });
  const tested = await testOpenAi(t, {
    provider: { ...provider, takes: () => ["image/png", "application/pdf"] },
    ...{ records, blobs, turnStore },
  });
  const server = await listen(tested.door, { host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  return { ...tested, baseUrl: `${server.url}/v1`, key: tested.admin.key };
}

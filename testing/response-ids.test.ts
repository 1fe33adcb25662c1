/** A response id of the OpenAI door, on the real wires of all providers, over restarts and machines (O2). */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import OpenAI from "openai";
import { openAiMount } from "../src/compose/mounts/openai.ts";
import { createAptove, type Aptove } from "../src/compose.ts";
import { httpDoor } from "../src/doors/http/door.ts";
import { everyModel, everyProvider, type EveryProvider } from "./every-provider.ts";
import { temporaryFolder } from "./temporary-folder.ts";

interface Opened {
  aptove: Aptove;
  openai: OpenAI;
  close(): Promise<void>;
}

test("[O2] an id that was made on OpenAI continues after a restart, on another machine, and on every other provider, with the same history", async (t) => {
  const folder = await temporaryFolder(t);
  const { fakes, overrides } = await everyProvider(t);
  const open = async (name: string): Promise<Opened> => {
    const aptove = await createAptove({ dataDir: join(folder, name), env: {}, overrides, report: () => {} });
    const owner = await aptove.engine.keys.owner();
    const mount = openAiMount(aptove);
    const { engine, report } = aptove;
    const door = httpDoor({ engine, report, mounts: [mount], authenticate: async () => owner });
    const openai = new OpenAI({
      apiKey: "aptove_owner",
      baseURL: "http://localhost/v1",
      maxRetries: 0,
      fetch: (input, init) => door.fetch(new Request(input as string, init as RequestInit)),
    });
    const close = async (): Promise<void> => {
      mount.close();
      await engine.close();
    };
    t.after(close);
    return { aptove, openai, close };
  };

  fakes.openai.next("In cart.ts.");
  const first = await open("one");
  const made = await first.openai.responses.create({ model: "openai/gpt-5.1", input: "Where are prices rounded?" });
  assert.equal(made.output_text, "In cart.ts.");
  await first.close();

  const again = await open("one");
  fakes.openai.next("After the restart.");
  const asked = { previous_response_id: made.id, input: "And who calls it?" };
  const restarted = await again.openai.responses.create({ ...asked, model: "openai/gpt-5.1" });
  assert.equal(restarted.output_text, "After the restart.");
  const owner = await again.aptove.engine.keys.owner();
  const { sessions } = await again.aptove.engine.sessions.list(owner, { limit: 1 });
  const lines = await Array.fromAsync(again.aptove.engine.transfer.export(owner, { sessionId: sessions[0]?.id ?? "" }));
  await again.close();

  const elsewhere = await open("two");
  const other = await elsewhere.aptove.engine.keys.owner();
  await elsewhere.aptove.engine.transfer.import(other, linesOf(lines));
  for (const [name, model] of Object.entries(everyModel) as [EveryProvider, string][]) {
    fakes[name].next(`On ${name}.`);
    const response = await elsewhere.openai.responses.create({ ...asked, model });
    assert.equal(response.output_text, `On ${name}.`);
    assert.equal(response.previous_response_id, made.id);
    const sent = fakes[name].requests.at(-1);
    assert.equal(sent?.refusal, null, name);
    // A chain of OpenAI's own may stand for the history there.
    if (name === "openai" && JSON.stringify(JSON.parse(sent.raw.toString())).includes("previous_response_id")) continue;
    assert.match(sent.raw.toString(), /Where are prices rounded\?[^]*In cart\.ts\.[^]*And who calls it\?/, name);
    assert.doesNotMatch(sent.raw.toString(), /After the restart|On (?!.*calls)/, name);
  }
});

async function* linesOf(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

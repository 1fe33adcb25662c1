/** `store: false` in the program as people start it: its words are nowhere, also after a kill in the middle (O3). */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import OpenAI from "openai";
import { program } from "./program.ts";

const asked = "zebrafish-in-the-cupboard";
const answered = "giraffe-behind-the-curtain";

/** Returns the files of a folder that have one of the words. */
function filesWith(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => {
    const path = join(folder, name);
    return (
      existsSync(path) && statSync(path).isFile() && [asked, answered].some((word) => readFileSync(path).includes(word))
    );
  });
}

test("[O3] [R2] after a kill in its middle, no file, log or backup has a word of a response that is not stored", async (t) => {
  const world = await program(t);
  const held = Promise.withResolvers<void>();
  world.model.answer(() => ({
    output: [{ type: "message", text: `${answered} and more` }],
    hold: { afterEvents: 6, until: held.promise },
  }));
  const server = await world.serve();
  const openai = new OpenAI({ apiKey: server.key, baseURL: `${server.url}/v1`, maxRetries: 0 });
  const stream = await openai.responses.create({ input: asked, instructions: asked, store: false, stream: true });
  await assert.rejects(async () => {
    for await (const event of stream) if (event.type === "response.output_text.delta") await server.kill();
  });
  held.resolve();
  // The model was asked, and is asked to keep nothing.
  assert.ok(world.model.requests.some(({ body }) => JSON.stringify(body).includes(asked)));
  assert.deepEqual(filesWith(world.dataDir), []);
  const copy = join(world.project, "copy");
  assert.equal((await world.run(["backup", copy])).exit, 0);
  assert.deepEqual([...filesWith(copy), ...filesWith(world.project)], []);
  assert.match((await world.run(["session", "list", "--json"])).stdout, /"sessions":\[\]/);
  assert.match((await world.run(["doctor"])).stdout, /ok/);
  // The same words are found if they are stored, so the search above would have found them.
  world.model.answer(() => answered);
  assert.equal((await world.run(["ask", asked])).exit, 0);
  assert.notDeepEqual(filesWith(world.dataDir), []);
});

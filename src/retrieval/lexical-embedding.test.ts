import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { sha256 } from "../domain/ids.ts";
import { lexicalEmbedder } from "./lexical-embedding.ts";

const embedder = lexicalEmbedder();

async function embed(text: string): Promise<Float32Array> {
  const [vector] = await embedder.embed([text]);
  assert.ok(vector !== undefined);
  return vector;
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

test("[Q6] every text has a vector of length 1, or of zeros if there is nothing in it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 400 }), async (text) => {
      const vector = await embed(text);
      assert.equal(vector.length, embedder.dimension);
      const length = Math.sqrt(dot(vector, vector));
      assert.ok(Math.abs(length - 1) < 1e-5 || length === 0);
    }),
  );
  assert.ok((await embed("the of and")).every((value) => value === 0));
});

test("[Q6] vectors are the same in every process and version, as long as the model has this name", async () => {
  const vector = await embed("src/a.ts\nmoveHead\nMoves the head of a session, guarded by compare-and-set.\n");
  const rounded = [...vector].map((value) => value.toFixed(4)).join(" ");
  assert.equal(
    `${embedder.model} ${embedder.dimension} ${sha256(rounded)}`,
    "aptove-lexical-1 256 a578abd86a3dcd695ecda695df834687a9c374c5f8ef01e14db04dc11c64f8fb",
  );
});

test("[Q6] texts are embedded in their order, each by itself", async () => {
  const texts = ["lighthouse keeper", "", "tidal harmonics"];
  assert.deepEqual(await embedder.embed(texts), await Promise.all(texts.map(embed)));
});

test("[Q6] texts with common words are closer than others, even with misspelt words", async () => {
  const text = await embed("The keeper of the lighthouse lights the lamp at dusk.");
  const close = dot(await embed("who lights the lamp of a lighthouse?"), text);
  const misspelt = dot(await embed("lighthous keeprs"), text);
  const far = dot(await embed("parsing expressions of a grammar"), text);
  assert.ok(close > misspelt && misspelt > far, `${close} ${misspelt} ${far}`);
});

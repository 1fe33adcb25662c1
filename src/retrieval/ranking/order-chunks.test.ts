import assert from "node:assert/strict";
import { test } from "node:test";
import { fuseRankings, orderChunks, type RankedChunk } from "./order-chunks.ts";
import { readQuestion } from "./question.ts";

function chunk(path: string, score: number, language = "typescript"): RankedChunk {
  return { repo: "r", path, language, score };
}

function order(text: string, chunks: RankedChunk[], language?: string): string[] {
  const question = readQuestion(text);
  assert.ok(question !== null);
  return orderChunks(chunks, question, language).map(({ path }) => path);
}

const code = chunk("src/head.ts", 1);
const quoting = ["src/head.test.ts", "docs/head.md", "examples/head.ts", "head.json"].map((path) => chunk(path, 1.5));

test("[Q3] code comes before the tests, documents, examples and data that quote it", () => {
  for (const each of quoting) assert.equal(order("where is the head moved?", [each, code])[0], code.path, each.path);
});

test("[Q3] a question that asks for such files has them where their words put them", () => {
  const [tests, docs, example, data] = quoting as [RankedChunk, RankedChunk, RankedChunk, RankedChunk];
  assert.equal(order("which tests move the head?", [code, tests])[0], tests.path);
  assert.equal(order("what does the documentation say of the head?", [code, docs])[0], docs.path);
  assert.equal(order("an example of the head", [code, example])[0], example.path);
  assert.equal(order("the config of the head", [code, data])[0], data.path);
});

test("[Q3] a question about tests prefers them to better matches elsewhere", () => {
  const tests = chunk("src/head.test.ts", 1);
  const better = chunk("src/head.ts", 1.5);
  assert.equal(order("which tests move the head?", [better, tests])[0], better.path);
  assert.equal(order("fix the failing tests of the head", [better, tests])[0], tests.path);
});

test("[Q3] a chunk gains by other good chunks of its file", () => {
  const alone = chunk("src/alone.ts", 1.05);
  const among = [1, 0.9, 0.8].map((score) => chunk("src/among.ts", score));
  assert.equal(order("where is it?", [alone, ...among])[0], "src/among.ts");
});

test("[S9] [Q3] code in another language than most of what was found counts less, unless the caller prefers it", () => {
  const found = [chunk("src/a.ts", 1), chunk("src/b.tsx", 0.5, "tsx"), chunk("c/legacy.c", 1.2, "c")];
  assert.equal(order("where is it?", found)[0], "src/a.ts");
  assert.equal(order("where is it?", found, "C")[0], "c/legacy.c");
});

test("[Q3] rankings are fused by rank: one that is high in several comes before one that is first in a single one", () => {
  const hits = (...ids: string[]) => ids.map((id) => ({ id }));
  const rankings = [
    { hits: hits("a", "b"), weight: 1 },
    { hits: hits("c", "b"), weight: 1 },
    { hits: hits("d"), weight: 0.5 },
  ];
  assert.deepEqual(
    fuseRankings(rankings, ({ id }) => id).map(({ id }) => id),
    ["b", "a", "c", "d"],
  );
});

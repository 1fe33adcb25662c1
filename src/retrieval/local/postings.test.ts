/** An index that followed many changes finds the same, in the same order, as one that was made at once. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import fc from "fast-check";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { lexicalEmbedder } from "../lexical-embedding.ts";
import { sampleRepository } from "../sample-repository.ts";
import { questionTerms } from "../terms.ts";
import { ChunkSets } from "./chunk-set.ts";
import { openIndexFile, repositoryRow } from "./index-file.ts";
import { openLocalRetriever } from "./local-retriever.ts";
import { PostingsWriter, readEntries, segmentsOf, type TermCounts } from "./postings.ts";
import { oneCorpus, WordScores } from "./word-scores.ts";

const words = ["lighthouse", "lantern", "harbour", "moveHead", "tide", "anchor"];
const names = ["a.ts", "b.ts", "c.ts", "src/d.ts"];

function source(picks: number[]): string {
  return picks.map((at, line) => `export function ${words[at]}${line}() { return "${words[at]}"; }\n`).join("\n");
}

/** Returns the score by words of each chunk, by its id. */
async function scores(folder: string, text: string): Promise<Record<string, string>> {
  const database = openIndexFile(folder);
  try {
    const repository = repositoryRow(database, { orgId: "org", repo: "sample" });
    assert.ok(repository !== null);
    const set = await new ChunkSets(database).get(repository);
    const own = new WordScores(database, repository, set);
    const found = own.score({ field: "all", terms: questionTerms(text) }, oneCorpus([{ set, words: own }]));
    const idOf = database.prepare<[number], string>("SELECT id FROM chunks WHERE number = ?").pluck();
    const byId = Array.from(found, (score, row): [string, string] => [
      idOf.get(set.numberOf(row)) as string,
      score.toFixed(4),
    ]);
    return Object.fromEntries(byId);
  } finally {
    database.close();
  }
}

const changes = fc.array(
  fc.record({
    name: fc.constantFrom(...names),
    picks: fc.option(fc.array(fc.nat(words.length - 1), { minLength: 1, maxLength: 40 })),
  }),
  { minLength: 1, maxLength: 8 },
);

test("[Q2] [Q3] after any changes the index finds what a new one would, in few segments", async (t) => {
  await fc.assert(
    fc.asyncProperty(changes, async (steps) => {
      const [followed, fresh] = [join(await temporaryFolder(t), "followed"), join(await temporaryFolder(t), "fresh")];
      const repository = sampleRepository();
      const retriever = await openLocalRetriever({ folder: followed, embedder: lexicalEmbedder() });
      const other = await openLocalRetriever({ folder: fresh, embedder: lexicalEmbedder() });
      const job = { root: repository.root, orgId: "org", repo: "sample" };
      try {
        for (const { name, picks } of steps) {
          repository.write({ [name]: picks === null ? null : source(picks) });
          await retriever.index(job);
        }
        await other.index(job);
        for (const text of words) assert.deepEqual(await scores(followed, text), await scores(fresh, text), text);
      } finally {
        await Promise.all([retriever.close(), other.close()]);
        repository.remove();
      }
      const database = openIndexFile(followed);
      const sizes = segmentsOf(database, 1).map(({ entries }) => entries);
      database.close();
      for (const [at, size] of sizes.slice(1).entries()) assert.ok((sizes[at] ?? 0) >= 2 * size, sizes.join(" "));
    }),
    { numRuns: 12 },
  );
});

test("[Q2] segments of the same size are merged, and removed chunks leave them", async (t) => {
  const folder = join(await temporaryFolder(t), "index");
  const repository = sampleRepository({ "a.ts": source([0, 1, 2]) });
  const retriever = await openLocalRetriever({ folder, embedder: lexicalEmbedder() });
  const job = { root: repository.root, orgId: "org", repo: "sample" };
  await retriever.index(job);
  repository.write({ "a.ts": source([3, 4, 5]) });
  await retriever.index(job);
  await retriever.close();
  repository.remove();
  const database = openIndexFile(folder);
  t.after(() => database.close());
  assert.equal(segmentsOf(database, 1).length, 1);
  const live = database.prepare<[], number>("SELECT number FROM chunks").pluck().all();
  for (const entries of database.prepare<[], Uint8Array>("SELECT entries FROM postings").pluck().all()) {
    readEntries(entries, ({ number }) => assert.ok(live.includes(number), String(number)));
  }
});

test("[Q3] a list gives back every row number and count", () => {
  const database = new Database(":memory:");
  try {
    database.exec("CREATE TABLE segments (number INTEGER PRIMARY KEY, repository_id INTEGER, entries INTEGER)");
    database.exec("CREATE TABLE postings (segment INTEGER, term TEXT, entries BLOB)");
    const entry = fc.record({
      step: fc.integer({ min: 1, max: 10_000_000 }),
      body: fc.nat(127),
      symbol: fc.nat(3),
      path: fc.nat(3),
    });
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 200 }), (entries) => {
        database.exec("DELETE FROM segments; DELETE FROM postings");
        let number = 0;
        const written = entries.map(({ step, ...counts }): [number, TermCounts] => [(number += step), counts]);
        const writer = new PostingsWriter(database, 1);
        for (const [each, counts] of written) writer.add(each, new Map([["term", counts]]));
        writer.finish();
        const stored = database.prepare<[], Uint8Array>("SELECT entries FROM postings").pluck().get();
        const read: [number, TermCounts][] = [];
        readEntries(stored ?? new Uint8Array(), ({ number: each, ...counts }) => read.push([each, counts]));
        assert.deepEqual(read, written);
      }),
    );
  } finally {
    database.close();
  }
});

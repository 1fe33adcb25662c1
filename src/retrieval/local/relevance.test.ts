/**
 * Tests that the right code is found, in our own source: the domain and the contracts, which change little. The questions are
 * those of a user who does not know the names.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { limits } from "../../domain/limits.ts";
import type { Embedder } from "../embedding.ts";
import { lexicalEmbedder } from "../lexical-embedding.ts";
import type { RetrievedChunk, Retriever } from "../retriever.ts";
import { sampleRepository, type SampleRepository } from "../sample-repository.ts";
import { openLocalRetriever } from "./local-retriever.ts";

const source = fileURLToPath(new URL("../../", import.meta.url));
const contracts = [
  "blobs/blob-store.ts",
  "engine/engine.ts",
  "engine/turn/prepare/gathered/choose-chunks.ts",
  "live/event-log.ts",
  "providers/provider.ts",
  "records/record-store.ts",
  "retrieval/embedding.ts",
  "retrieval/retriever.ts",
];

function ownSource(): Record<string, string> {
  const domain = readdirSync(join(source, "domain")).filter((name) => /^[\w-]+\.ts$/.test(name));
  const paths = [...domain.map((name) => `domain/${name}`), ...contracts];
  return Object.fromEntries(paths.map((path) => [`src/${path}`, readFileSync(join(source, path), "utf8")]));
}

const questions: Record<string, string[]> = {
  "where is the head of a session moved, and what guards it?": ["src/records/record-store.ts", "src/domain/session.ts"],
  "which characters may a path of an active file not have?": ["src/domain/active-file.ts"],
  "how are chunks chosen within the token budget?": ["src/engine/turn/prepare/gathered/choose-chunks.ts"],
  "what is the HTTP status of an error code?": ["src/domain/errors.ts"],
  "how is the name of a session made from its first instruction?": ["src/domain/session.ts"],
  "how much history does a state file hold, and what is its base?": ["src/domain/lineage.ts"],
  "what must a provider do when the stream is cut?": ["src/providers/provider.ts"],
  "which keys may a blob have?": ["src/blobs/blob-store.ts"],
  "summing up the tokens of several model calls": ["src/domain/usage.ts"],
};

const phrases = [
  "thanks!",
  "yes please",
  "go on",
  "how so?",
  "can you explain that in more detail?",
  "ok",
  "that makes sense",
  "what do you mean?",
  "are you sure?",
  "try again",
  "could you elaborate?",
  "the second one",
  "cool, let's do that",
  "any other ideas?",
  "I don't understand",
  "never mind, forget it",
  "looks good to me",
  "great job",
  "continue from where you stopped",
  "just do what you think is best",
];

const names: Record<string, string> = {
  chainDepths: "src/domain/lineage.ts",
  session_name: "src/domain/session.ts",
  addUsage: "src/domain/usage.ts",
  completeTurn: "src/domain/turn.ts",
  isBlobKey: "src/blobs/blob-store.ts",
  "where is chooseChunks?": "src/engine/turn/prepare/gathered/choose-chunks.ts",
  "who calls openToolCalls, and why": "src/domain/history.ts",
};

suite("what is found in our own source", () => {
  let repository: SampleRepository;
  let retriever: Retriever;
  const ask = (text: string): Promise<RetrievedChunk[]> =>
    retriever.search({ text, orgId: "org", repo: "aptove", candidates: limits.retrievalCandidatesMax });

  before(async () => {
    repository = sampleRepository(ownSource());
    const folder = join(repository.root, ".git", "index-of-test");
    retriever = await openLocalRetriever({ folder, embedder: lexicalEmbedder() });
    await retriever.index({ root: repository.root, orgId: "org", repo: "aptove" });
  });
  after(async () => {
    await retriever.close();
    repository.remove();
  });

  test("[Q3] nine of ten phrases of a conversation find nothing", async () => {
    const found: string[] = [];
    for (const phrase of phrases) if ((await ask(phrase)).length > 0) found.push(phrase);
    assert.ok(found.length <= phrases.length / 10, found.join("; "));
  });

  for (const [question, paths] of Object.entries(questions)) {
    test(`[Q3] among the first five files: ${question}`, async () => {
      const found = [...new Set((await ask(question)).map(({ path }) => path))].slice(0, 5);
      assert.ok(
        found.some((path) => paths.includes(path)),
        found.join(", "),
      );
    });
  }

  for (const [question, path] of Object.entries(names)) {
    test(`[Q3] the definition comes first: ${question}`, async () => {
      const [first] = await ask(question);
      assert.equal(first?.path, path, `${first?.path}: ${first?.symbol}`);
    });
  }
});

suite("what has next to none of the question's words", () => {
  const paths = async (embedder: Embedder): Promise<string[]> => {
    // The first word of the question is in every file, so it says nothing.
    const files = Array.from({ length: 80 }, (_, at) => [
      `src/part${at}/value${at}.ts`,
      `export const value${at} = ${at};\n`,
    ]);
    const repository = sampleRepository(Object.fromEntries(files));
    const retriever = await openLocalRetriever({ folder: join(repository.root, ".git", "index-of-test"), embedder });
    try {
      await retriever.index({ root: repository.root, orgId: "org", repo: "values" });
      const found = await retriever.search({
        text: "where is value 77?",
        orgId: "org",
        repo: "values",
        candidates: 20,
      });
      return found.map(({ path }) => path);
    } finally {
      await retriever.close();
      repository.remove();
    }
  };

  test("[Q3] it is not found beside a chunk that has them", async () => {
    assert.deepEqual(await paths(lexicalEmbedder()), ["src/part77/value77.ts"]);
  });

  test("[Q3] it is found by an embedding that knows what words mean", async () => {
    const { rankWeight: _, ...learned } = lexicalEmbedder();
    const [first, ...others] = await paths(learned);
    assert.equal(first, "src/part77/value77.ts");
    assert.ok(others.length > 0);
  });

  test("[Q3] [M7] a small repository beside a large one is judged by the same scale", async () => {
    const large = sampleRepository({
      ...Object.fromEntries(
        Array.from({ length: 600 }, (_, at) => [`src/value${at}.ts`, `export const value${at} = ${at};\n`]),
      ),
      "src/ledger.ts": "/** Exports the invoice ledger of a customer. */\nexport function exportInvoiceLedger() {}\n",
    });
    const small = sampleRepository({
      ...Object.fromEntries(
        Array.from({ length: 9 }, (_, at) => [`src/part${at}.ts`, `export const part${at} = ${at};\n`]),
      ),
      // In three of its chunks, the word is not rare in the small one.
      "src/spreadsheet.ts": "export function write(rows: Row[]) {}\n",
      "src/rows.ts": "/** The rows of a spreadsheet. */\nexport type Row = string[];\n",
      "src/cells.ts": "/** The cells of a spreadsheet. */\nexport type Cell = string;\n",
    });
    const folder = join(large.root, ".git", "index-of-test");
    const retriever = await openLocalRetriever({ folder, embedder: lexicalEmbedder() });
    try {
      await retriever.index({ root: large.root, orgId: "org", repo: "large" });
      await retriever.index({ root: small.root, orgId: "org", repo: "small" });
      const text = "how is the invoice ledger of a customer exported as a spreadsheet?";
      const query = { text, orgId: "org", repo: "large", others: [{ repo: "small" }], candidates: 20 };
      const found = (await retriever.search(query)).map(({ path }) => path);
      assert.deepEqual(found.toSorted(), ["src/cells.ts", "src/ledger.ts", "src/rows.ts", "src/spreadsheet.ts"]);
    } finally {
      await retriever.close();
      large.remove();
      small.remove();
    }
  });
});

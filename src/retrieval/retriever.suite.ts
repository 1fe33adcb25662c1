/**
 * What every retriever must do, as tests: run it on your own driver to know that it keeps the contract (B5).
 */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { AptoveError, type ErrorCode } from "../domain/errors.ts";
import { sha256 } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import type { Embedder } from "./embedding.ts";
import { lexicalEmbedder } from "./lexical-embedding.ts";
import type { IndexJob, IndexProgress, RetrievedChunk, Retriever } from "./retriever.ts";
import { sampleRepository, type SampleRepository } from "./sample-repository.ts";

/** Opens a retriever over the same, at first empty, store each time. */
export type OpenRetriever = (embedder: Embedder) => Promise<Retriever>;
/** Makes a store for one test, and registers with `context.after` whatever must be cleared away, closing included. */
export type RetrieverForTest = (context: TestContext) => OpenRetriever | Promise<OpenRetriever>;

/** Registers the tests. `name` is what they are listed under. */
export function retrieverSuite(name: string, forTest: RetrieverForTest): void {
  suite(name, () => {
    chunkTests(forTest);
    listingTests(forTest);
    reindexTests(forTest);
    failureTests(forTest);
    searchTests(forTest);
    filterTests(forTest);
    orgTests(forTest);
    embeddingTests(forTest);
  });
}

const greeting = `/** Greets a person by name. */
export function greetPerson(name: string): string {
  return "Good morning, " + name;
}
`;
const farewell = `/** Says farewell at the end of the day. */
export function sayFarewell(name: string): string {
  return "Good night, " + name;
}
`;
const tides = `# How the tide is predicted

The moon pulls the water; harmonics of its orbit predict high and low tide.
`;

interface Bench {
  repository: SampleRepository;
  retriever: Retriever;
  open: OpenRetriever;
  index(job?: Partial<IndexJob>): ReturnType<Retriever["index"]>;
  search(text: string, filters?: { language?: string; pathPrefixes?: string[] }): Promise<RetrievedChunk[]>;
}

async function bench(
  context: TestContext,
  forTest: RetrieverForTest,
  files: Record<string, string | Uint8Array>,
): Promise<Bench> {
  const repository = sampleRepository(files);
  context.after(() => repository.remove());
  const open = await forTest(context);
  const retriever = await open(lexicalEmbedder());
  return {
    repository,
    retriever,
    open,
    index: (job = {}) => retriever.index({ root: repository.root, orgId: "org", repo: "sample", ...job }),
    search: (text, filters = {}) =>
      retriever.search({ text, orgId: "org", repo: "sample", candidates: limits.retrievalCandidatesMax, ...filters }),
  };
}

async function rejectsWith(code: ErrorCode, promise: Promise<unknown>, words: RegExp): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof AptoveError, String(error));
    assert.equal(error.code, code);
    assert.match(error.detail, words);
    return true;
  });
}

function ids(chunks: RetrievedChunk[]): string[] {
  return chunks.map(({ id }) => id);
}

function chunkTests(forTest: RetrieverForTest): void {
  test("[Q1] a chunk says where it is from, and its text is exactly those lines", async (context) => {
    const { repository, index, search } = await bench(context, forTest, { "src/greet.ts": `\n\n${greeting}` });
    const commit = repository.commit();
    await index();
    const [found] = await search("greetPerson");
    assert.ok(found !== undefined);
    const { id, score, ...facts } = found;
    assert.equal(typeof score, "number");
    assert.match(id, /\S/);
    const text = greeting.trimEnd();
    const place = { repo: "sample", path: "src/greet.ts", startLine: 3, endLine: 6 };
    const content = { language: "typescript", symbol: "greetPerson", text, hash: sha256(text) };
    assert.deepEqual(facts, { ...place, ...content, commit });
  });

  test("[Q1] before the first commit there is no commit to name", async (context) => {
    const { index, search } = await bench(context, forTest, { "greet.ts": greeting });
    assert.equal((await index()).commit, null);
    assert.equal((await search("greetPerson"))[0]?.commit, null);
  });
}

function listingTests(forTest: RetrieverForTest): void {
  test("[Q1] only what git tracks is read: neither ignored files nor new ones", async (context) => {
    const { repository, index, search } = await bench(context, forTest, { "greet.ts": greeting, ".gitignore": "out/" });
    repository.write({ "out/farewell.ts": farewell });
    repository.git("rm", "--quiet", "--cached", ".gitignore");
    const { filesTotal } = await index();
    assert.equal(filesTotal, 1);
    assert.deepEqual(
      new Set((await search("farewell out ignore greet")).map(({ path }) => path)),
      new Set(["greet.ts"]),
    );
  });

  test("[Q1] a commit is indexed as it is, whatever the working copy says", async (context) => {
    const { repository, index, search } = await bench(context, forTest, {
      "greet.ts": greeting,
      "image.png": new Uint8Array([137, 80, 78, 71, 0, 1, 2]),
      "large.txt": "x ".repeat(limits.indexedFileBytesMax / 2 + 1),
      "empty.ts": "",
    });
    const commit = repository.commit();
    repository.write({ "greet.ts": farewell, "image.png": null, "new.ts": tides });
    const first = await index({ commit: "HEAD" });
    assert.deepEqual(
      [first.commit, first.filesTotal, first.chunksTotal, first.skippedBinary, first.skippedLarge],
      [commit, 2, 1, 1, 1],
    );
    assert.deepEqual(
      (await search("greetPerson sayFarewell tide")).map(({ path, symbol, commit: at }) => [path, symbol, at]),
      [["greet.ts", "greetPerson", commit]],
    );
    const newer = repository.commit();
    const again = await index({ commit });
    assert.deepEqual([again.filesChanged, again.chunksWritten, again.commit], [0, 0, commit]);
    const second = await index({ commit: newer });
    assert.deepEqual([second.filesChanged, second.filesRemoved, second.chunksTotal], [2, 0, 2]);
    await rejectsWith("repository_invalid", index({ commit: "--all" }), /knows no commit "--all"/);
  });

  test("[Q1] binary and very large files are skipped and counted", async (context) => {
    const { index } = await bench(context, forTest, {
      "greet.ts": greeting,
      "image.png": new Uint8Array([137, 80, 78, 71, 0, 1, 2]),
      "latin1.txt": new Uint8Array([0x63, 0x61, 0x66, 0xe9]),
      "large.txt": "x ".repeat(limits.indexedFileBytesMax / 2 + 1),
    });
    for (const run of ["first", "second"]) {
      const { filesTotal, skippedBinary, skippedLarge } = await index();
      assert.deepEqual(
        { filesTotal, skippedBinary, skippedLarge },
        { filesTotal: 1, skippedBinary: 2, skippedLarge: 1 },
        run,
      );
    }
  });

  test("[Q1] a folder that git does not know is refused with the mend", async (context) => {
    const { repository, index } = await bench(context, forTest, {});
    await rejectsWith("repository_invalid", index({ root: `${repository.root}/nowhere` }), /no folder/);
  });
}

function reindexTests(forTest: RetrieverForTest): void {
  test("[Q2] with nothing changed, nothing is written", async (context) => {
    const { index } = await bench(context, forTest, { "greet.ts": greeting, "tides.md": tides });
    const first = await index();
    assert.deepEqual([first.filesChanged, first.chunksWritten, first.chunksTotal], [2, 2, 2]);
    const { filesChanged, filesRemoved, chunksWritten, chunksTotal } = await index();
    assert.deepEqual([filesChanged, filesRemoved, chunksWritten, chunksTotal], [0, 0, 0, 2]);
  });

  test("[Q2] an unchanged chunk keeps its id when lines above it move it, in a changed file too", async (context) => {
    const long = `export function long() {\n${`  call("${"x".repeat(60)}");\n`.repeat(40)}}\n\n`;
    const { repository, index, search } = await bench(context, forTest, {
      "a.ts": `${long}${greeting}`,
      "b.md": tides,
    });
    await index();
    const [before] = await search("greetPerson");
    repository.write({ "a.ts": `// A new first line.\n\n${long}${greeting}` });
    const { filesChanged, chunksWritten, chunksTotal } = await index();
    assert.equal(filesChanged, 1);
    assert.ok(chunksWritten < chunksTotal - 1, `${chunksWritten} of ${chunksTotal}`);
    const [after] = await search("greetPerson");
    assert.deepEqual([after?.id, after?.startLine], [before?.id, (before?.startLine ?? 0) + 2]);
  });

  test("[Q2] the chunks of a removed or emptied file go", async (context) => {
    const { repository, index, search } = await bench(context, forTest, { "greet.ts": greeting, "bye.ts": farewell });
    await index();
    repository.write({ "bye.ts": null });
    assert.equal((await index()).filesRemoved, 1);
    assert.deepEqual(
      (await search("sayFarewell greetPerson")).map(({ path }) => path),
      ["greet.ts"],
    );
    repository.write({ "greet.ts": "" });
    assert.equal((await index()).chunksTotal, 0);
    assert.deepEqual(await search("greetPerson"), []);
  });

  test("[Q2] text that became binary goes, and comes back as text with the ids it had", async (context) => {
    const { repository, index, search } = await bench(context, forTest, { "greet.ts": greeting });
    await index();
    const before = ids(await search("greetPerson"));
    repository.write({ "greet.ts": new Uint8Array([0, 1, 2]) });
    const { skippedBinary, chunksTotal } = await index();
    assert.deepEqual([skippedBinary, chunksTotal], [1, 0]);
    repository.write({ "greet.ts": greeting });
    await index();
    assert.deepEqual(ids(await search("greetPerson")), before);
  });

  test("[Q2] equal chunks of one file have ids of their own, the same after a rebuild", async (context) => {
    const { index, search } = await bench(context, forTest, { "a.txt": `${`${"same ".repeat(300)}\n\n`.repeat(3)}` });
    const { chunksTotal } = await index();
    assert.equal(chunksTotal, 3);
    // Which of equals comes first is another index's to say.
    const before = new Set(ids(await search("same")));
    assert.equal(before.size, 3);
    assert.equal((await index({ rebuild: true })).chunksWritten, 3);
    assert.deepEqual(new Set(ids(await search("same"))), before);
  });

  test("[Q2] progress counts up to the whole and ends with writing", async (context) => {
    const { index } = await bench(context, forTest, { "greet.ts": greeting, "bye.ts": farewell, "tides.md": tides });
    const reports: IndexProgress[] = [];
    await index({ onProgress: (progress) => reports.push(progress) });
    assert.deepEqual([...new Set(reports.map(({ phase }) => phase))], ["listing", "chunking", "writing"]);
    assert.deepEqual(reports.at(-1), {
      phase: "writing",
      filesDone: 3,
      filesTotal: 3,
      bytesDone: greeting.length + farewell.length + tides.length,
    });
    for (const { filesDone, filesTotal } of reports) assert.ok(filesDone <= filesTotal);
  });
}

function failureTests(forTest: RetrieverForTest): void {
  test("[Q2] an aborted run throws the signal's reason and leaves the former index whole", async (context) => {
    const { repository, index, search } = await bench(context, forTest, { "greet.ts": greeting, "tides.md": tides });
    await index();
    const before = await search("greetPerson tide");
    repository.write({ "greet.ts": farewell, "tides.md": null, "new.ts": "export const novel = 1;\n" });
    const abort = new AbortController();
    const reason = new Error("enough");
    const onProgress = ({ phase }: IndexProgress): void => {
      if (phase === "chunking") abort.abort(reason);
    };
    await assert.rejects(index({ signal: abort.signal, onProgress }), reason);
    assert.deepEqual(await search("greetPerson tide"), before);
    await assert.rejects(index({ signal: AbortSignal.abort(reason) }), reason);
    await index();
    assert.deepEqual(
      new Set((await search("novel farewell")).map(({ path }) => path)),
      new Set(["new.ts", "greet.ts"]),
    );
  });

  test("[Q2] a run that fails, a rebuild too, leaves the former index whole", async (context) => {
    const { repository, open, index, search } = await bench(context, forTest, { "greet.ts": greeting });
    await index();
    const before = await search("greetPerson");
    repository.write({ "bye.ts": farewell });
    const { model, dimension } = lexicalEmbedder();
    const fault = new AptoveError("retrieval_failed", "the embedding is out of reach");
    const failing = await open({ model, dimension, embed: () => Promise.reject(fault) });
    for (const rebuild of [false, true]) {
      const job = { root: repository.root, orgId: "org", repo: "sample", rebuild };
      await rejectsWith("retrieval_failed", failing.index(job), /out of reach/);
      assert.deepEqual(await search("greetPerson"), before);
    }
    await rejectsWith(
      "retrieval_failed",
      failing.search({ text: "x", orgId: "org", repo: "sample", candidates: 1 }),
      /out of reach/,
    );
  });

  test("[Q6] an embedding that gives the wrong number of dimensions is refused", async (context) => {
    const { repository, open, search } = await bench(context, forTest, { "greet.ts": greeting });
    const short = await open({
      model: "short",
      dimension: 8,
      embed: (texts) => Promise.resolve(texts.map(() => new Float32Array(7))),
    });
    await rejectsWith(
      "retrieval_failed",
      short.index({ root: repository.root, orgId: "org", repo: "sample" }),
      /8 dimensions/,
    );
    await rejectsWith("index_missing", search("greet"), /aptove index/);
  });
}

const phrasings = {
  "the name as it is": "greetPerson",
  "another case": "greet_person",
  "words of a sentence": "how are persons greeted?",
  "a word of the comment": "greeting people by their names",
};

function searchTests(forTest: RetrieverForTest): void {
  for (const [what, question] of Object.entries(phrasings)) {
    test(`[Q3] finds a function by ${what}`, async (context) => {
      const { index, search } = await bench(context, forTest, { "a.ts": farewell, "b.ts": greeting, "c.md": tides });
      await index();
      assert.equal((await search(question))[0]?.path, "b.ts");
    });
  }

  test("[Q3] the same question gives the same order, best first, at most as many as asked for", async (context) => {
    const files = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`${at}.ts`, `${greeting}// ${at % 3}\n`]));
    const { index, search, retriever } = await bench(context, forTest, files);
    await index();
    const found = await search("greetPerson name");
    assert.equal(found.length, limits.retrievalCandidatesMax);
    assert.equal(new Set(ids(found)).size, found.length);
    assert.deepEqual(
      found.map(({ score }) => score),
      found.map(({ score }) => score).toSorted((a, b) => b - a),
    );
    assert.deepEqual(ids(await search("greetPerson name")), ids(found));
    const few = await retriever.search({ text: "greetPerson name", orgId: "org", repo: "sample", candidates: 5 });
    assert.equal(few.length, 5);
  });

  test("[Q3] no text of a question is an operator of the search", async (context) => {
    const { index, search } = await bench(context, forTest, { "greet.ts": greeting });
    await index();
    const hostile = [
      '"',
      "'",
      "*",
      "greet*",
      "path:greet",
      "NEAR(greet person, 2)",
      "greet AND NOT person",
      "(((",
      "AND OR NOT NEAR",
      "-greet",
      "^greet",
      "{symbol}:greet",
      "%_",
      "\0greet\0",
      "greet\uD800",
      "', 1); DROP TABLE chunks; --",
    ];
    for (const text of hostile) {
      const found = await search(text);
      if (text.includes("greet")) assert.equal(found[0]?.path, "greet.ts", text);
    }
  });

  test("[Q3] a question of nothing finds nothing; one of stop words alone, or without end, is no fault", async (context) => {
    const { index, search } = await bench(context, forTest, { "greet.ts": greeting, "a.md": "to be or not to be\n" });
    await index();
    for (const text of ["", "   \n", "?!"]) assert.deepEqual(await search(text), []);
    assert.equal((await search("to be or not to be"))[0]?.path, "a.md");
    assert.equal((await search(`greetPerson ${"log line 4711 ".repeat(100_000)}`))[0]?.path, "greet.ts");
  });
}

function filterTests(forTest: RetrieverForTest): void {
  test("[Q3] filters hold for every candidate: language, and files or folders", async (context) => {
    const { index, search } = await bench(context, forTest, {
      "src/a/greet.ts": greeting,
      "src/ab/greet.ts": greeting,
      "docs/greet.md": "# Greeting\n\nHow greetPerson works.\n",
    });
    await index();
    const paths = async (filters: { language?: string; pathPrefixes?: string[] }) =>
      (await search("greetPerson", filters)).map(({ path }) => path).toSorted();
    assert.deepEqual(await paths({}), ["docs/greet.md", "src/a/greet.ts", "src/ab/greet.ts"]);
    assert.deepEqual(await paths({ language: "markdown" }), ["docs/greet.md"]);
    assert.deepEqual(await paths({ pathPrefixes: ["src/a"] }), ["src/a/greet.ts"]);
    assert.deepEqual(await paths({ pathPrefixes: ["src/a/", "docs/greet.md"] }), ["docs/greet.md", "src/a/greet.ts"]);
    assert.deepEqual(await paths({ pathPrefixes: ["src"], language: "markdown" }), []);
    assert.deepEqual(await paths({ language: "cobol" }), []);
  });

  test("[Q1] repositories are apart: own chunks, own files, own statistics", async (context) => {
    const { retriever, index, search, repository } = await bench(context, forTest, { "greet.ts": greeting });
    const other = sampleRepository({ "greet.ts": greeting, "bye.ts": farewell });
    context.after(() => other.remove());
    await index();
    await retriever.index({ root: other.root, orgId: "org", repo: "other" });
    const listed = (await retriever.list("org")).map(({ repo, root, files, chunks }) => ({
      repo,
      root,
      files,
      chunks,
    }));
    assert.deepEqual(listed, [
      { repo: "other", root: other.root, files: 2, chunks: 2 },
      { repo: "sample", root: repository.root, files: 1, chunks: 1 },
    ]);
    const [mine] = await search("greetPerson");
    const [theirs] = await retriever.search({ text: "greetPerson", orgId: "org", repo: "other", candidates: 1 });
    assert.notEqual(mine?.id, theirs?.id);
    assert.deepEqual(
      (await search("farewell")).filter(({ path }) => path === "bye.ts"),
      [],
    );
    other.write({ "greet.ts": null });
    await retriever.index({ root: other.root, orgId: "org", repo: "other" });
    assert.equal((await search("greetPerson"))[0]?.id, mine?.id);
  });
}

function orgTests(forTest: RetrieverForTest): void {
  test("[H4] [Q1] an organisation finds and lists what it indexed itself, under the same name as another too", async (context) => {
    const { repository, retriever, index, search } = await bench(context, forTest, { "greet.ts": greeting });
    const other = sampleRepository({ "bye.ts": farewell });
    context.after(() => other.remove());
    await index();
    const question = { text: "greetPerson sayFarewell", repo: "sample", candidates: 5 };
    await rejectsWith("index_missing", retriever.search({ ...question, orgId: "another" }), /aptove index/);
    assert.deepEqual(await retriever.list("another"), []);
    await retriever.index({ root: other.root, orgId: "another", repo: "sample" });
    const theirs = await retriever.search({ ...question, orgId: "another" });
    assert.deepEqual(
      theirs.map(({ path }) => path),
      ["bye.ts"],
    );
    assert.deepEqual(
      (await search(question.text)).map(({ path }) => path),
      ["greet.ts"],
    );
    assert.deepEqual(
      (await retriever.list("another")).map(({ root }) => root),
      [other.root],
    );
    await retriever.index({ root: other.root, orgId: "another", repo: "sample", rebuild: true });
    assert.deepEqual(
      (await retriever.list("org")).map(({ root, chunks }) => [root, chunks]),
      [[repository.root, 1]],
    );
    assert.equal((await search("greetPerson")).length, 1);
  });
}

function embeddingTests(forTest: RetrieverForTest): void {
  test("[Q6] the model is recorded; another one is refused, with the command that rebuilds the index", async (context) => {
    const { repository, open, index } = await bench(context, forTest, { "greet.ts": greeting });
    await index();
    const { embed, dimension } = lexicalEmbedder();
    const other = await open({ model: "other", dimension, embed });
    const job = { root: repository.root, orgId: "org", repo: "sample" };
    const question = { text: "greetPerson", orgId: "org", repo: "sample", candidates: 3 };
    await rejectsWith("index_mismatch", other.search(question), /aptove index --rebuild/);
    await rejectsWith("index_mismatch", other.index(job), /aptove index --rebuild/);
    await other.index({ ...job, rebuild: true });
    assert.equal((await other.search(question)).length, 1);
    assert.deepEqual((await other.list("org"))[0]?.embedding, { model: "other", dimension });
  });

  test("[Q6] a repository without an index is refused with the command that makes one", async (context) => {
    const { search, retriever } = await bench(context, forTest, {});
    await rejectsWith("index_missing", search("anything"), /aptove index/);
    assert.deepEqual(await retriever.list("org"), []);
  });

  test("[B4] another reader of the same store sees a new index as soon as it is there", async (context) => {
    const { repository, open, index } = await bench(context, forTest, { "greet.ts": greeting });
    await index();
    const reader = await open(lexicalEmbedder());
    const question = { text: "farewell greet", orgId: "org", repo: "sample", candidates: 5 };
    assert.deepEqual(
      (await reader.search(question)).map(({ path }) => path),
      ["greet.ts"],
    );
    repository.write({ "greet.ts": null, "bye.ts": farewell });
    await index();
    assert.deepEqual(
      (await reader.search(question)).map(({ path }) => path),
      ["bye.ts"],
    );
  });
}

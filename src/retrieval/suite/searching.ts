/** What a retriever must do when it searches: order, filters, separate repositories and orgs, and its model (Q3, Q6, H4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { lexicalEmbedder } from "../lexical-embedding.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { RetrievedChunk } from "../retriever.ts";
import { sampleRepository } from "../sample-repository.ts";
import {
  setUpRetriever,
  farewell,
  greeting,
  ids,
  rejectsWith,
  tides,
  type RetrieverForTest,
} from "./set-up-retriever.ts";

const naming = `/** Prints the name of a person who was greeted. */
export function printName(name: string): void {
  console.log(name);
}
`;

const phrasings = {
  "the name as it is": "greetPerson",
  "another case": "greet_person",
  "words of a sentence": "how are persons greeted?",
  "a word of the comment": "greeting people by their names",
};

export function retrievalSearchTests(forTest: RetrieverForTest): void {
  for (const [what, question] of Object.entries(phrasings)) {
    test(`[Q3] finds a function by ${what}`, async (context) => {
      const { index, search } = await setUpRetriever(context, forTest, {
        "a.ts": farewell,
        "b.ts": greeting,
        "c.md": tides,
      });
      await index();
      assert.equal((await search(question))[0]?.path, "b.ts");
    });
  }

  test("[U4] [H4] the paths of the indexed files are listed, of this index only, and as the newest run left them", async (context) => {
    const files = { "b/two.ts": greeting, "a.md": tides, "none.bin": new Uint8Array([0, 1, 2]) };
    const { index, repository, retriever } = await setUpRetriever(context, forTest, files);
    const paths = async (orgId: string) => await retriever.paths?.({ orgId, repo: "sample" });
    await assert.rejects(paths("org"), { code: "index_missing" });
    await index();
    assert.deepEqual(await paths("org"), ["a.md", "b/two.ts"]);
    repository.write({ "c.ts": farewell });
    await index();
    assert.deepEqual(await paths("org"), ["a.md", "b/two.ts", "c.ts"]);
    await assert.rejects(paths("another"), { code: "index_missing" });
  });

  test("[Q3] the same question returns the same order, best first, at most as many as requested", async (context) => {
    const files = Object.fromEntries(Array.from({ length: 49 }, (_, at) => [`${at}.ts`, `${greeting}// ${at % 3}\n`]));
    const { index, search, retriever } = await setUpRetriever(context, forTest, files);
    await index();
    const found = await search("greetPerson name");
    assert.equal(found.length, 49);
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
    const { index, search } = await setUpRetriever(context, forTest, { "greet.ts": greeting });
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

  test("[Q3] words of a conversation that match nothing find nothing, also beside code that is a little like them", async (context) => {
    const { index, search } = await setUpRetriever(context, forTest, { "a.ts": farewell, "b.ts": greeting });
    await index();
    for (const text of ["thanks!", "yes", "go on", "ok, please continue", "hmm", "👍", "why not?"]) {
      assert.deepEqual(await search(text), [], text);
    }
    assert.equal((await search("thanks! and greetPerson?"))[0]?.path, "b.ts");
  });

  test("[Q3] an empty question, or one of stop words alone, finds nothing; a very long one is no error", async (context) => {
    const { index, search } = await setUpRetriever(context, forTest, {
      "greet.ts": greeting,
      "a.md": "to be or not to be\n",
    });
    await index();
    for (const text of ["", "   \n", "?!"]) assert.deepEqual(await search(text), []);
    assert.deepEqual(await search("to be or not to be"), [], "stop words are no evidence");
    assert.equal((await search(`greetPerson ${"log line 4711 ".repeat(100_000)}`))[0]?.path, "greet.ts");
  });
}

export function filterTests(forTest: RetrieverForTest): void {
  test("[Q3] a filter of files or folders holds for every candidate", async (context) => {
    const { index, search } = await setUpRetriever(context, forTest, {
      "src/a/greet.ts": greeting,
      "src/ab/greet.ts": greeting,
      "docs/greet.md": "# Greeting\n\nHow greetPerson works.\n",
    });
    await index();
    const paths = async (filters: { pathPrefixes?: string[] }) =>
      (await search("greetPerson", filters)).map(({ path }) => path).toSorted();
    assert.deepEqual(await paths({}), ["docs/greet.md", "src/a/greet.ts", "src/ab/greet.ts"]);
    assert.deepEqual(await paths({ pathPrefixes: ["src/a"] }), ["src/a/greet.ts"]);
    assert.deepEqual(await paths({ pathPrefixes: ["src/a/", "docs/greet.md"] }), ["docs/greet.md", "src/a/greet.ts"]);
    assert.deepEqual(await paths({ pathPrefixes: ["lib"] }), []);
  });

  test("[S9] a preferred language raises the rank of its chunks, and leaves none out", async (context) => {
    const { index, search } = await setUpRetriever(context, forTest, {
      "a.ts": "export function greetAll() {\n  return 1;\n}\n",
      "b.js": "export function greetAll() {\n  return 2;\n}\n",
    });
    await index();
    const paths = async (language?: string) =>
      (await search("greetAll", language === undefined ? {} : { language })).map(({ path }) => path);
    const usual = await paths();
    assert.deepEqual(await paths("javascript"), ["b.js", "a.ts"]);
    assert.deepEqual(await paths("typescript"), ["a.ts", "b.js"]);
    assert.deepEqual(await paths("cobol"), usual);
  });

  test("[M7] several repositories are searched as if they were one: one scale, one number of chunks, own filters", async (context) => {
    const parts = {
      first: { "src/greet.ts": greeting, "lib/tides.md": tides },
      second: { "src/farewell.ts": farewell, "lib/greet.ts": `${greeting}${greeting}`, "src/name.ts": naming },
    };
    const { index, retriever } = await setUpRetriever(context, forTest, { ...parts.first, ...parts.second });
    await index();
    for (const [repo, files] of Object.entries(parts)) {
      const part = sampleRepository(files);
      context.after(() => part.remove());
      await retriever.index({ root: part.root, orgId: "org", repo });
    }
    const question = "where is the name of a greeted person printed?";
    const whole = await retriever.search({ text: question, orgId: "org", repo: "sample", candidates: 10 });
    const query = { text: question, orgId: "org", repo: "first", candidates: 10 };
    const joint = await retriever.search({ ...query, others: [{ repo: "second" }] });
    // The same files in one index have the same scores.
    const shown = (chunks: RetrievedChunk[]): string[] =>
      chunks.map(({ path, score }) => `${path} ${score.toFixed(5)}`);
    assert.deepEqual(shown(joint).toSorted(), shown(whole).toSorted());
    assert.deepEqual(new Set(joint.map(({ repo }) => repo)), new Set(["first", "second"]));
    assert.deepEqual(
      joint.map(({ score }) => score),
      joint.map(({ score }) => score).toSorted((a, b) => b - a),
    );
    const few = await retriever.search({ ...query, others: [{ repo: "second" }], candidates: 2 });
    assert.equal(few.length, 2);
    const within = { ...query, pathPrefixes: ["src"], others: [{ repo: "second", pathPrefixes: ["lib"] }] };
    const places = (await retriever.search(within)).map(({ repo, path }) => `${repo}/${path}`);
    assert.deepEqual(places.toSorted(), ["first/src/greet.ts", "second/lib/greet.ts"]);
  });

  test("[M7] a repository that the question does not match finds nothing, and one that is missing is named", async (context) => {
    const { index, retriever } = await setUpRetriever(context, forTest, { "greet.ts": greeting });
    await index();
    const other = sampleRepository({ "tides.md": tides });
    context.after(() => other.remove());
    await retriever.index({ root: other.root, orgId: "org", repo: "other" });
    const query = { text: "greetPerson", orgId: "org", repo: "other", candidates: 10 };
    const found = await retriever.search({ ...query, others: [{ repo: "sample" }] });
    assert.deepEqual(
      found.map(({ repo, path }) => `${repo}/${path}`),
      ["sample/greet.ts"],
    );
    for (const orgId of ["org", "another org"]) {
      const others = [{ repo: "gone" }];
      const repo = orgId === "org" ? "sample" : "gone";
      await assert.rejects(retriever.search({ ...query, orgId, repo, others }), (error) => {
        assert.ok(error instanceof AptoveError);
        assert.deepEqual([error.code, error.facts["repo"]], ["index_missing", "gone"]);
        return true;
      });
    }
  });

  test("[Q1] repositories are separate: own chunks, own files, own statistics", async (context) => {
    const { retriever, index, search, repository } = await setUpRetriever(context, forTest, { "greet.ts": greeting });
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

export function orgTests(forTest: RetrieverForTest): void {
  test("[H4] [Q1] an organisation finds and lists only what it indexed itself, also under the same name as another", async (context) => {
    const { repository, retriever, index, search } = await setUpRetriever(context, forTest, { "greet.ts": greeting });
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

export function generationTests(forTest: RetrieverForTest): void {
  test("[Q7] the generation of an index is the same until a run changes what is found, and in every process", async (context) => {
    const { repository, retriever, open, index } = await setUpRetriever(context, forTest, { "greet.ts": greeting });
    const key = { orgId: "org", repo: "sample" };
    const generation = async (one = retriever): Promise<string> => (await one.generation?.(key)) ?? assert.fail();
    await index();
    const first = await generation();
    assert.equal(await generation(await open(lexicalEmbedder())), first);
    assert.equal(await generation(), first);
    repository.write({ "bye.ts": farewell });
    repository.git("add", "bye.ts");
    await index();
    const second = await generation();
    assert.notEqual(second, first);
    repository.git("rm", "--quiet", "--force", "bye.ts");
    await index();
    assert.equal(new Set([first, second, await generation()]).size, 3, "the former content is a generation of its own");
    const before = await generation();
    repository.commit();
    await index();
    assert.notEqual(await generation(), before, "chunks name the commit");
  });

  test("[Q7] [H4] no two indexes have the same generation, and one that is not there has none", async (context) => {
    const { repository, retriever, open, index } = await setUpRetriever(context, forTest, { "greet.ts": greeting });
    const of = (orgId: string, repo: string): Promise<string | null> =>
      retriever.generation?.({ orgId, repo }) ?? assert.fail();
    await rejectsWith("index_missing", of("org", "sample"), /aptove index/);
    await index();
    await rejectsWith("index_missing", of("another", "sample"), /aptove index/);
    await retriever.index({ root: repository.root, orgId: "another", repo: "sample" });
    await retriever.index({ root: repository.root, orgId: "org", repo: "copy" });
    const all = [await of("org", "sample"), await of("another", "sample"), await of("org", "copy")];
    assert.equal(new Set(all).size, all.length);
    const { embed, dimension } = lexicalEmbedder();
    const other = await open({ model: "other", dimension, embed });
    const asked = other.generation?.({ orgId: "org", repo: "sample" }) ?? assert.fail();
    await rejectsWith("index_mismatch", asked, /aptove index --rebuild/);
  });
}

export function embeddingTests(forTest: RetrieverForTest): void {
  test("[Q6] the model is recorded; another one is refused, with the command that rebuilds the index", async (context) => {
    const { repository, open, index } = await setUpRetriever(context, forTest, { "greet.ts": greeting });
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
    const { search, retriever } = await setUpRetriever(context, forTest, {});
    await rejectsWith("index_missing", search("anything"), /aptove index/);
    assert.deepEqual(await retriever.list("org"), []);
  });

  test("[B4] another reader of the same store sees a new index as soon as it is complete", async (context) => {
    const { repository, open, index } = await setUpRetriever(context, forTest, { "greet.ts": greeting });
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

/** What a retriever must do when it indexes: what it reads, which chunks it keeps, and what a failed run leaves (Q1, Q2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AptoveError } from "../../domain/errors.ts";
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { lexicalEmbedder } from "../lexical-embedding.ts";
import type { IndexProgress } from "../retriever.ts";
import {
  setUpRetriever,
  farewell,
  greeting,
  ids,
  rejectsWith,
  tides,
  type RetrieverForTest,
} from "./set-up-retriever.ts";

export function chunkTests(forTest: RetrieverForTest): void {
  test("[Q1] a chunk has its path and lines, and its text is exactly those lines", async (context) => {
    const { repository, index, search } = await setUpRetriever(context, forTest, { "src/greet.ts": `\n\n${greeting}` });
    const commit = repository.commit();
    await index();
    const [found] = await search("greetPerson");
    assert.ok(found !== undefined);
    const { id, score, ...facts } = found;
    assert.equal(typeof score, "number");
    assert.match(id, /\S/);
    const text = greeting.trimEnd();
    const location = { repo: "sample", path: "src/greet.ts", startLine: 3, endLine: 6 };
    const content = { language: "typescript", symbol: "greetPerson", text, hash: sha256(text) };
    assert.deepEqual(facts, { ...location, ...content, commit });
  });

  test("[Q1] before the first commit the chunks have no commit", async (context) => {
    const { index, search } = await setUpRetriever(context, forTest, { "greet.ts": greeting });
    assert.equal((await index()).commit, null);
    assert.equal((await search("greetPerson"))[0]?.commit, null);
  });
}

export function listingTests(forTest: RetrieverForTest): void {
  test("[Q1] only files that git tracks are read: neither ignored files nor new ones", async (context) => {
    const { repository, index, search } = await setUpRetriever(context, forTest, {
      "greet.ts": greeting,
      ".gitignore": "out/",
    });
    repository.write({ "out/farewell.ts": farewell });
    repository.git("rm", "--quiet", "--cached", ".gitignore");
    const { filesTotal } = await index();
    assert.equal(filesTotal, 1);
    assert.deepEqual(
      new Set((await search("farewell out ignore greet")).map(({ path }) => path)),
      new Set(["greet.ts"]),
    );
  });

  test("[Q1] a commit is indexed unchanged, whatever the working copy contains", async (context) => {
    const { repository, index, search } = await setUpRetriever(context, forTest, {
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
    const { index } = await setUpRetriever(context, forTest, {
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

  test("[Q1] a folder that git does not know is refused with the fix", async (context) => {
    const { repository, index } = await setUpRetriever(context, forTest, {});
    await rejectsWith("repository_invalid", index({ root: `${repository.root}/nowhere` }), /no folder/);
  });
}

export function reindexTests(forTest: RetrieverForTest): void {
  test("[Q2] if nothing changed, nothing is written", async (context) => {
    const { index } = await setUpRetriever(context, forTest, { "greet.ts": greeting, "tides.md": tides });
    const first = await index();
    assert.deepEqual([first.filesChanged, first.chunksWritten, first.chunksTotal], [2, 2, 2]);
    const { filesChanged, filesRemoved, chunksWritten, chunksTotal } = await index();
    assert.deepEqual([filesChanged, filesRemoved, chunksWritten, chunksTotal], [0, 0, 0, 2]);
  });

  test("[Q2] an unchanged chunk keeps its id when lines above move it, also in a changed file", async (context) => {
    const long = `export function long() {\n${`  call("${"x".repeat(60)}");\n`.repeat(40)}}\n\n`;
    const { repository, index, search } = await setUpRetriever(context, forTest, {
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

  test("[Q2] the chunks of a removed or emptied file are removed", async (context) => {
    const { repository, index, search } = await setUpRetriever(context, forTest, {
      "greet.ts": greeting,
      "bye.ts": farewell,
    });
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

  test("[Q2] a text file that became binary is removed, and comes back as text with the same ids", async (context) => {
    const { repository, index, search } = await setUpRetriever(context, forTest, { "greet.ts": greeting });
    await index();
    const before = ids(await search("greetPerson"));
    repository.write({ "greet.ts": new Uint8Array([0, 1, 2]) });
    const { skippedBinary, chunksTotal } = await index();
    assert.deepEqual([skippedBinary, chunksTotal], [1, 0]);
    repository.write({ "greet.ts": greeting });
    await index();
    assert.deepEqual(ids(await search("greetPerson")), before);
  });

  test("[Q2] equal chunks of one file have different ids, the same after a rebuild", async (context) => {
    const { index, search } = await setUpRetriever(context, forTest, {
      "a.txt": `${`${"tide ".repeat(300)}\n\n`.repeat(3)}`,
    });
    const { chunksTotal } = await index();
    assert.equal(chunksTotal, 3);
    // The order of equal chunks may differ in another index.
    const before = new Set(ids(await search("tide")));
    assert.equal(before.size, 3);
    assert.equal((await index({ rebuild: true })).chunksWritten, 3);
    assert.deepEqual(new Set(ids(await search("tide"))), before);
  });

  test("[Q2] progress counts up to the total and ends with writing", async (context) => {
    const { index } = await setUpRetriever(context, forTest, {
      "greet.ts": greeting,
      "bye.ts": farewell,
      "tides.md": tides,
    });
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

export function failureTests(forTest: RetrieverForTest): void {
  test("[Q2] an aborted run throws the signal's reason and leaves the former index unchanged", async (context) => {
    const { repository, index, search } = await setUpRetriever(context, forTest, {
      "greet.ts": greeting,
      "tides.md": tides,
    });
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

  test("[Q2] a run that fails, also a rebuild, leaves the former index unchanged", async (context) => {
    const { repository, open, index, search } = await setUpRetriever(context, forTest, { "greet.ts": greeting });
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

  test("[Q6] an embedding with the wrong number of dimensions is refused", async (context) => {
    const { repository, open, search } = await setUpRetriever(context, forTest, { "greet.ts": greeting });
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

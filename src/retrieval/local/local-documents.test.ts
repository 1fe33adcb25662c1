import assert from "node:assert/strict";
import { test } from "node:test";
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { LongDocument } from "../documents.ts";
import { lexicalEmbedder } from "../lexical-embedding.ts";
import { breakLines } from "./document-lines.ts";
import { localDocuments } from "./local-documents.ts";

interface CountedDocument extends LongDocument {
  reads: number;
}

function document(name: string, text: string | null): CountedDocument {
  const counted: CountedDocument = {
    name,
    sha256: sha256(`${name} ${text ?? ""}`),
    reads: 0,
    read: async () => {
      counted.reads += 1;
      return text;
    },
  };
  return counted;
}

const filler = Array.from({ length: 200 }, (_, at) => `Paragraph ${at} is about revenue, boards and dividends.\n`).join(
  "\n",
);

test("[M8] the chunks of a document are whole lines of it, under its name and hash, best first", async () => {
  const text = `${filler}\n## Birds\n\nThe flamingo census counted 4711.\n\n${filler}`;
  const report = document("report.md", text);
  const search = localDocuments(lexicalEmbedder());
  const found = await search.search({ text: "flamingo census", documents: [report], candidates: 3 });
  const [best] = found;
  assert.ok(best?.text.includes("4711") && best.symbol === "Birds");
  assert.ok(found.length <= 3);
  const lines = text.split("\n");
  for (const chunk of found) {
    assert.equal(chunk.text, lines.slice(chunk.startLine - 1, chunk.endLine).join("\n"));
    assert.deepEqual([chunk.path, chunk.document, chunk.hash], ["report.md", report.sha256, sha256(chunk.text)]);
  }
});

test("[M8] only the named documents are searched, and each is read and split once for many questions", async () => {
  const search = localDocuments(lexicalEmbedder());
  const birds = document("birds.txt", `${filler}\nThe flamingo census counted 4711.\n`);
  const engines = document("engines.txt", `${filler}\nTurbine bearings last 9000 hours.\n`);
  const ask = async (text: string, ...documents: LongDocument[]): Promise<string[]> =>
    (await search.search({ text, documents, candidates: 60 })).map(({ path }) => path);
  assert.equal((await ask("flamingo census", birds, engines))[0], "birds.txt");
  assert.equal((await ask("turbine bearings", birds, engines))[0], "engines.txt");
  assert.deepEqual([birds.reads, engines.reads], [1, 1]);
  assert.equal((await ask("flamingo census", birds)).includes("engines.txt"), false);
  assert.deepEqual(await ask("flamingo census", engines), []);
  assert.deepEqual(await ask("thanks, go on", birds, engines), []);
  const newer = document("birds.txt", `${filler}\nThe heron census counted 12.\n`);
  assert.deepEqual(await ask("flamingo", newer), []);
  await Promise.all([ask("heron", newer, engines), ask("turbine", newer, engines)]);
  assert.equal(newer.reads, 2, "two questions at once share one split");
});

test("[M8] what is kept split is bounded: what was used longest ago is split again", async () => {
  const search = localDocuments(lexicalEmbedder());
  const size = Math.ceil(limits.documentCacheCharactersMax / 2);
  // Encoded data makes few words, and so a large document that is split quickly.
  const large = document("large.txt", `${"x".repeat(size)}\nThe flamingo census.`);
  const others = ["a", "b"].map((name) => document(`${name}.txt`, `${name.repeat(size)}\nThe flamingo census.`));
  for (const one of [large, ...others]) await search.search({ text: "flamingo", documents: [one], candidates: 1 });
  await search.search({ text: "flamingo", documents: [others[1] ?? large], candidates: 1 });
  assert.equal(others[1]?.reads, 1);
  await search.search({ text: "flamingo", documents: [large], candidates: 1 });
  assert.equal(large.reads, 2);
});

test("[M8] content that is no text, an empty text and a failed read: nothing is found, or the failure is the caller's", async () => {
  const search = localDocuments(lexicalEmbedder());
  for (const text of [null, "", "\n\n"]) {
    assert.deepEqual(await search.search({ text: "flamingo", documents: [document("a", text)], candidates: 1 }), []);
  }
  let fails = true;
  const flaky: LongDocument = {
    ...document("b.txt", ""),
    read: async () => {
      if (fails) throw new Error("the disk is away");
      return "The flamingo census.";
    },
  };
  const query = { text: "flamingo", documents: [flaky], candidates: 1 };
  await assert.rejects(search.search(query), /the disk is away/);
  fails = false;
  assert.equal((await search.search(query)).length, 1, "a failed read is not remembered");
});

test("[M8] a document of several megabytes is split in pieces: lines are counted on, and no character is cut", async () => {
  const search = localDocuments(lexicalEmbedder());
  const at = Math.ceil((2.5 * limits.indexedFileBytesMax) / filler.length);
  const text = `${filler.repeat(at)}\nThe flamingo census counted 4711.\n\n${filler}`;
  const [best] = await search.search({ text: "flamingo census", documents: [document("a.md", text)], candidates: 1 });
  assert.ok(best !== undefined);
  const lines = text.split("\n");
  assert.equal(best.text, lines.slice(best.startLine - 1, best.endLine).join("\n"));
  assert.ok(best.text.includes("4711") && best.startLine > 10_000);
  const oneLine = document("b.txt", `a${"\u{1F600}".repeat(limits.indexedFileBytesMax)} flamingo census`);
  const found = await search.search({ text: "flamingo census", documents: [oneLine], candidates: 60 });
  assert.ok(found.length > 0 && found.every((one) => one.text.isWellFormed() && one.endLine === 1));
});

test("[M8] a line that is longer than a chunk is broken between words, and its parts keep its number", async () => {
  assert.equal(breakLines("short\nlines"), null);
  const longLine = "revenue of the board \u{1F600} ".repeat(2_000);
  const text = `first\n${longLine}flamingo census\nlast`;
  const broken = breakLines(text);
  assert.ok(broken !== null);
  const parts = broken.text.split("\n");
  assert.ok(parts.every((part) => part.length <= limits.chunkCharactersMax && part.isWellFormed()));
  assert.equal(parts.join(""), text.replaceAll("\n", ""));
  assert.deepEqual([1, 2, parts.length - 1, parts.length].map(broken.lineOf), [1, 2, 2, 3]);
  assert.ok(
    breakLines("\u{1F600}".repeat(10_000))
      ?.text.split("\n")
      .every((part) => part.isWellFormed()),
  );
  const search = localDocuments(lexicalEmbedder());
  const json = document("data.json", `{"text":"${longLine} flamingo census"}`);
  const [best] = await search.search({ text: "flamingo census", documents: [json], candidates: 1 });
  assert.deepEqual([best?.startLine, best?.endLine], [1, 1]);
  assert.ok(best?.text.includes("flamingo") && best.text.length <= limits.chunkCharactersMax);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../testing/any-character.ts";
import { identifierTerms, questionTerms, stem, termsOf } from "./terms.ts";

test("[Q3] an identifier is found whole and by its parts, however it is written", () => {
  assert.deepEqual(termsOf("moveHead"), ["movehead", "mov", "head"]);
  assert.deepEqual(termsOf("move_head"), ["movehead", "mov", "head"]);
  assert.deepEqual(termsOf("HTTPServer sha256Of"), ["httpserver", "http", "server", "sha256of", "sha256", "of"]);
  assert.deepEqual(termsOf("MAX_CHUNK_LINES"), ["maxchunklin", "max", "chunk", "lin"]);
  assert.deepEqual(termsOf("kebab-case, a.b(c)"), ["kebab", "case", "a", "b", "c"].map(stem));
});

const families = [
  ["move", "moves", "moved", "moving"],
  ["retry", "retries", "retried"],
  ["stop", "stopped", "stopping", "stops"],
  ["index", "indexes", "indexed", "indexing"],
  ["chunk", "chunks", "chunked", "chunking"],
  ["guard", "guards", "guarded"],
  ["call", "called", "calls"],
];

for (const family of families) {
  test(`[Q3] the forms of a word are one term: ${family.join(", ")}`, () => {
    assert.deepEqual([...new Set(family.map(stem))], [stem(family[0] ?? "")]);
  });
}

test("[Q3] words that only look like forms of others are unchanged", () => {
  for (const word of ["string", "class", "status", "bed", "sha256", "thing", "größe"]) assert.equal(stem(word), word);
});

test("[Q3] stop words count only if there is nothing else", () => {
  assert.deepEqual(questionTerms("where is the head moved?"), ["head", "mov"]);
  assert.deepEqual(questionTerms("what is it"), ["what", "is", "it"]);
});

test("[Q3] the identifiers of a question are those with several parts", () => {
  assert.deepEqual(
    identifierTerms("Where does moveHead or head_moved guard the Session?"),
    ["movehead", "headmoved"].map(stem),
  );
});

test("[Q3] terms are letters and digits in lower case, for any text", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: anyCharacter })), (text) => {
      assert.match(termsOf(text).join(" "), /^(?:[\p{L}\p{N}\p{M}]+ ?)*$/u);
    }),
  );
});

test("[Q3] encoded data has no terms", () => {
  assert.deepEqual(termsOf("a".repeat(65)), []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { excerptOf, foldedText, foldedWords, matchesToShow, storableText, type WordMatch } from "./search-text.ts";

test("[S8] folding keeps every character at its position, and folding twice changes nothing more", () => {
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const character = String.fromCodePoint(code);
    const folded = foldedText(character);
    assert.equal(folded.length, character.length, `U+${code.toString(16)}`);
    assert.equal(foldedText(folded), folded, `U+${code.toString(16)}`);
  }
  assert.equal(foldedText("ΟΔΥΣΣΕΥΣ ΣΑΣ"), foldedText("οδυσσευς σας"));
});

test("[S8] words are folded and listed once each, and none is empty", () => {
  assert.deepEqual(foldedWords(["Plum", "", "PLUM", "É", "e\u0301", "\u0000"]), ["plum", "é", "\uFFFD"]);
});

test("[S8] an excerpt begins and ends with whole characters, and has an ellipsis only where the text continues", () => {
  const text = storableText("🙂".repeat(100));
  for (let at = 0; at < 100; at += 1) {
    const marked = `${text.slice(0, at * 2)}needle${text.slice(at * 2)}`;
    const excerpt = excerptOf(marked, ["needle"]);
    assert.ok(excerpt.isWellFormed() && excerpt.includes("needle"));
    assert.equal(excerpt.startsWith("…"), at * 2 > 60);
    assert.equal(excerpt.endsWith("…"), 200 - at * 2 > 120);
  }
  assert.equal(excerptOf("a\n\tneedle\r\n", ["needle"]), "a needle");
});

test("[S8] of the matches in a session, the newest of each word is shown, then the newest others", () => {
  const matchAt = (where: WordMatch["where"], sequence: number, words: number): WordMatch => ({
    where,
    sequence,
    words,
  });
  const [name, old, answer, newest] = [
    matchAt("name", Infinity, 0b01),
    matchAt("instruction", 1, 0b10),
    matchAt("answer", 7, 0b01),
    matchAt("instruction", 7, 0b01),
  ];
  assert.deepEqual(matchesToShow([old, answer, name, newest], 2), [name, newest, old]);
  assert.deepEqual(matchesToShow([answer, newest], 1), [newest, answer]);
  assert.equal(matchesToShow([answer, name, newest], 2), null);
  assert.equal(matchesToShow([], 1), null);
});

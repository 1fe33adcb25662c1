import assert from "node:assert/strict";
import { test } from "node:test";
import { sessionKey, sessionName } from "./session.ts";

test("[S2] the name is the first line of the instruction, cut at 60 characters with an ellipsis", () => {
  assert.equal(sessionName("Fix the tests\nand more"), "Fix the tests");
  assert.equal(sessionName("\r\n  \n  second line \r\nthird"), "second line");
  assert.equal(sessionName("x".repeat(60)), "x".repeat(60));
  assert.equal(sessionName("x".repeat(61)), `${"x".repeat(59)}…`);
});

test("[S2] a name is cut between characters and holds nothing that would garble a terminal", () => {
  assert.equal(sessionName("😀".repeat(60)), "😀".repeat(60));
  assert.equal(sessionName("😀".repeat(61)), `${"😀".repeat(59)}…`);
  assert.equal(sessionName("a\u001b[31mred\u0007"), "a [31mred");
  assert.equal(sessionName("\u0001\u0002"), "Untitled");
});

test("[S1] the key is a slug of the name", () => {
  assert.equal(sessionKey("Où est l’en-tête?"), "ou-est-l-en-tete");
  assert.equal(sessionKey("日本"), "session");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuestion } from "./question.ts";

test("[Q3] the first line of a longer question is a ranking of its own, and no word of it is lost", () => {
  const log = Array.from({ length: 200 }, (_, at) => `haven${at}`).join(" ");
  const question = readQuestion(`Module imported twice under import mode\n\n${log}`);
  assert.equal(question?.hasBody, true);
  const [all, title] = question.rankings;
  assert.deepEqual(title, { field: "all", terms: ["modul", "import", "twic", "mod"] });
  for (const term of title.terms) assert.ok(all?.terms.includes(term), term);
});

test("[Q3] a question of one line is its own title; names in it are searched among the names that code defines", () => {
  const question = readQuestion("where is moveHead called?");
  assert.equal(question?.hasBody, false);
  assert.deepEqual(question.rankings, [
    { field: "all", terms: ["movehead", "mov", "head", "call"] },
    { field: "symbol", terms: ["movehead"] },
  ]);
});

test("[Q3] what a template says to the person who fills it in is not searched for", () => {
  const question = readQuestion("<!-- Please describe the lighthouse -->\nThe lantern is dark");
  assert.ok(question !== null && !question.text.includes("lighthouse"));
  assert.deepEqual([...question.titleTerms], ["lantern", "dark"]);
  assert.equal(readQuestion("<!-- only this -->  \n"), null);
});

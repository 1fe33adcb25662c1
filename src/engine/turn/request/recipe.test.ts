import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../../../testing/any-character.ts";
import { hasCode } from "../../../../testing/refusals.ts";
import { applyRecipe, makeRecipe } from "./recipe.ts";

const text = fc.string({ unit: anyCharacter, maxLength: 300 });

test("[K3] [D3] a recipe gives back exactly the body that it was made from", () => {
  const cases = fc.record({
    shared: text,
    oldMiddle: text,
    newMiddle: text,
    tail: text,
    known: text,
    hasBase: fc.boolean(),
  });
  fc.assert(
    fc.property(cases, ({ shared, oldMiddle, newMiddle, tail, known, hasBase }) => {
      const base = hasBase ? JSON.stringify([shared, oldMiddle, tail]) : null;
      const body = JSON.stringify([shared, newMiddle, known, tail]);
      const recipe: unknown = JSON.parse(
        JSON.stringify(makeRecipe(body, base, { known: [{ name: "k", text: known }] })),
      );
      const rebuilt = applyRecipe(recipe as ReturnType<typeof makeRecipe>, base, new Map([["k", known]]));
      assert.equal(rebuilt, body);
    }),
  );
});

test("[K3] what a request shares with its base, and texts that are kept anyway, are not kept again", () => {
  const history = JSON.stringify(Array.from({ length: 2_000 }, (_, index) => `message ${index}`)).slice(0, -1);
  const message = "the new message, long enough to be named ".repeat(20);
  const recipe = makeRecipe(`${history},${JSON.stringify(message)}]`, `${history}]`, {
    known: [{ name: "message/0", text: message }],
  });
  assert.ok(JSON.stringify(recipe).length < 250, JSON.stringify(recipe));
  assert.equal(recipe.front, history.length);
});

test("[K3] a base that is not the one it was made with is an error, never another request", () => {
  const recipe = makeRecipe("same beginning, new end", "same beginning, old end", { known: [] });
  assert.throws(() => applyRecipe(recipe, "sane beginning, old end", new Map()), hasCode("blob_damaged"));
});

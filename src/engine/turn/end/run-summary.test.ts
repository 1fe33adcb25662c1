import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine } from "../../../../testing/engine.ts";

test("[T4] what a turn used is kept under its model, whatever the model is named", async (t) => {
  const { ask } = await testEngine(t);
  for (const model of ["__proto__", "constructor"]) {
    const turn = await ask("hello", { model });
    assert.ok(turn.status === "completed");
    assert.deepEqual(Object.entries(turn.run.byModel), [[model, turn.run.usage]]);
    assert.ok(turn.run.usage.total > 0);
  }
});

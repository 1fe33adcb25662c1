import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageByModel, type Usage } from "./usage.ts";

const usage: Usage = { input: 1, output: 2, cached: 0, reasoning: 0, total: 3 };

test("[T4] the usage of a model is counted under any name", () => {
  const byModel = new UsageByModel();
  for (const model of ["__proto__", "constructor", "__proto__"]) byModel.add(model, usage);
  const twice = { ...usage, input: 2, output: 4, total: 6 };
  assert.deepEqual(Object.entries(byModel.sums), [
    ["__proto__", twice],
    ["constructor", usage],
  ]);
});

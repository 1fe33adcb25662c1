import assert from "node:assert/strict";
import { test } from "node:test";
import { costOf, modelInfo } from "./models.ts";
import { addUsage, noUsage, unknownUsage, type Usage } from "./usage.ts";

const usage = (over: Partial<Usage>): Usage => ({ ...noUsage, ...over });

test("[C6] a dated snapshot has its family's window, an unknown model has none", () => {
  assert.equal(modelInfo("gpt-5.1-2025-11-13")?.contextTokens, 400_000);
  assert.equal(modelInfo("some-local-model"), null);
});

test("[F11] a model whose name is a word of the language is unknown, and so is its cost", () => {
  for (const model of ["constructor", "__proto__", "toString-2025-01-01"]) {
    assert.deepEqual([modelInfo(model), costOf(model, noUsage)], [null, undefined], model);
  }
});

test("[T4] cost counts cached input at its own price, and long requests at theirs", () => {
  assert.equal(costOf("gpt-5.1", usage({ input: 1_000_000, cached: 1_000_000 })), 0.125);
  assert.equal(costOf("gpt-5.1", usage({ input: 1_000_000, output: 100_000 })), 2.25);
  assert.equal(costOf("gpt-5.1", usage({ input: 0, cached: 1_000_000 })), 0.125);
  assert.equal(costOf("gpt-6.2-sol", usage({ input: 100_000, output: 10_000 }))?.toFixed(4), "0.3000");
  assert.equal(costOf("gpt-6.2-sol", usage({ input: 300_000, output: 10_000 }))?.toFixed(4), "1.3500");
  assert.equal(costOf("some-local-model", usage({ input: 1 })), undefined);
});

test("[T4] input that a provider writes to its cache has its own price, and an unknown usage has no cost", () => {
  const written = usage({ input: 1_000_000, cached: 200_000, written: 800_000 });
  assert.equal(costOf("claude-sonnet-5", written)?.toFixed(4), "2.0400");
  assert.equal(costOf("gpt-5.1", written)?.toFixed(4), "1.0250");
  assert.equal(costOf("gpt-5.1", unknownUsage), undefined);
  assert.equal(costOf("gpt-5.1", { ...unknownUsage, input: 1_000_000, total: 1_000_000 }), 1.25);
  const sum = addUsage(written, unknownUsage);
  assert.deepEqual([sum.written, sum.isPartial, addUsage(noUsage, noUsage).isPartial], [800_000, true, undefined]);
});

test("[T4] a sum has the cost of what has one", () => {
  assert.equal(addUsage(usage({ costUsd: 0.5 }), usage({ costUsd: 0.25 })).costUsd, 0.75);
  assert.equal(addUsage(usage({ costUsd: 0.5 }), noUsage).costUsd, 0.5);
  assert.equal("costUsd" in addUsage(noUsage, noUsage), false);
});

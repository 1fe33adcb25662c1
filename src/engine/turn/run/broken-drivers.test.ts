/** Drivers that break the contract of a provider, as one that is written in JavaScript can (C7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine } from "../../../../testing/engine.ts";
import type { Provider, ProviderEvent } from "../../../providers/provider.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";

/** A driver whose last event is changed. */
function driver(change: (last: ProviderEvent) => object): Provider {
  const scripted = scriptedProvider({ name: "acme" });
  return {
    ...scripted,
    send: async function* (request, signal) {
      for await (const event of scripted.send(request, signal)) {
        yield event.type === "finished" ? (change(event) as ProviderEvent) : event;
      }
    },
  };
}

test("[C7] an answer without its usage fails with the words of the contract", async (t) => {
  const provider = driver(({ ...last }) => ({ ...last, usage: undefined }));
  const { ask } = await testEngine(t, { provider });
  const turn = await ask("hi");
  assert.ok(turn.status === "failed");
  const [{ code, message }] = turn.failures;
  assert.equal(code, "internal");
  assert.match(message, /^the driver of acme breaks its contract: an event `finished` has `usage`, with the counts/);
});

test("[T11] a usage that lacks a count is unknown, and the answer is kept", async (t) => {
  const provider = driver(({ ...last }) => ({ ...last, usage: { input: 3, output: 4 } }));
  const { ask } = await testEngine(t, { provider });
  const turn = await ask("hi");
  assert.equal(turn.status, "completed");
  assert.equal(turn.run.usage.isPartial, true);
});

test("[C7] a failure without its usage and its wait keeps its own words", async (t) => {
  const failure = { code: "provider_rejected", message: "no", retryable: false };
  const { ask } = await testEngine(t, { provider: driver(() => ({ type: "failed", failure })) });
  const turn = await ask("hi");
  assert.deepEqual(turn.status === "failed" && turn.failures, [failure]);
});

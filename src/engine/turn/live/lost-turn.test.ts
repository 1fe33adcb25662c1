import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine } from "../../../../testing/engine.ts";
import { limits } from "../../../domain/limits.ts";

test("[R1] [V2] a process that was paused for longer than its lease shows no event that it still had at hand", async (t) => {
  const time = { passed: 0 };
  const held = Promise.withResolvers<void>();
  const { start, engine } = await testEngine(t, {
    monotonic: () => time.passed,
    script: () => [{ says: ["a ", "b ", "c ", held.promise] }],
  });
  const turn = await start("go");
  let shown = "";
  for await (const { event } of turn.events()) {
    if (event.type === "text_delta") shown += event.delta;
    if (shown === "a b c ") break;
  }
  const late = (await engine.turns.events(alice, turn.turnId, { afterSeq: 0 }))[Symbol.asyncIterator]();
  assert.equal((await late.next()).value?.event.type, "run_started");
  time.passed += limits.leaseMs;
  await assert.rejects(late.next(), { code: "runner_lost" });
  held.resolve();
});

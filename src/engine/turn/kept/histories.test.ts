/** The states of turns, read cold from their chains of files (K2, C3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine, testRunner } from "../../../../testing/engine.ts";
import { chainDepths } from "../../../domain/lineage.ts";
import { Histories } from "./histories.ts";

test("[K2] [C3] the history of any turn is whole, from its first turn on, in chains of one to six files", async (t) => {
  const { ask, deps } = await testEngine(t);
  const first = await ask("turn 1");
  const ids = [first.id];
  for (let n = 2; n <= 63; n += 1) ids.push((await ask(`turn ${n}`, { sessionId: first.sessionId })).id);
  const lengths = new Set<number>();
  for (const [index, id] of ids.entries()) {
    lengths.add(chainDepths(index + 1).length);
    const state = await new Histories(deps.blobs, deps.records).state(id);
    assert.deepEqual(
      state.entries.map((entry) => entry.turnId),
      ids.slice(0, index + 1),
      `the turn of depth ${index + 1}`,
    );
    const texts = state.entries.flatMap(({ items }) =>
      items.flatMap((item) => (item.type === "user" ? item.parts : [])),
    );
    for (let n = 1; n <= index + 1; n += 1) assert.ok(texts[n - 1]?.endsWith(`\nturn ${n}`), `${n} of ${index + 1}`);
  }
  assert.deepEqual([...lengths].toSorted(), [1, 2, 3, 4, 5, 6]);
});

test("[K2] [C3] a model that is sent the whole history is sent the first of fifteen turns too, from a chain of four files", async (t) => {
  const { ask, deps } = await testEngine(t, { conversation: { history: "replay" } });
  const first = await ask("turn 1");
  for (let n = 2; n <= 15; n += 1) await ask(`turn ${n}`, { sessionId: first.sessionId });
  const cold = await testEngine(t, { ...deps, runner: testRunner(), conversation: { history: "replay" } });
  await cold.ask("turn 16", { sessionId: first.sessionId });
  const sent = JSON.stringify(cold.provider.exchanges.at(-1)?.context);
  for (let n = 1; n <= 15; n += 1) assert.ok(sent.includes(`\\nturn ${n}"`), `turn ${n}`);
});

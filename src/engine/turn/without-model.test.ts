/** Turns that extend or change a history without a model (O2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine } from "../../../testing/engine.ts";
import type { HistoryItem } from "../../domain/history.ts";

const texts = (items: readonly HistoryItem[] = []) =>
  items.map((item) =>
    item.type === "user" ? item.parts[0]?.split("\n").at(-1) : "text" in item ? item.text : item.type,
  );

test("[O2] items are stored without a model, as a part of the history", async (t) => {
  const { ask, provider, engine } = await testEngine(t);
  const first = await ask("one");
  const added = await ask("", {
    sessionId: first.sessionId,
    withoutModel: true,
    earlier: [
      { type: "user", text: "added" },
      { type: "assistant", text: "noted" },
    ],
  });
  assert.deepEqual([added.status, added.provider, provider.exchanges.length], ["completed", "import", 1]);
  await ask("two", { sessionId: first.sessionId });
  assert.deepEqual(texts(provider.exchanges[1]?.context), ["one", "answer 1", "added", "noted", "two"]);
  assert.equal((await engine.explain.verify(alice, first.sessionId)).fault, null);
});

test("[O2] [K2] hidden items are given to no model from then on, and the turns before keep them", async (t) => {
  const { ask, provider, engine } = await testEngine(t);
  const first = await ask("one");
  const second = await ask("two", { sessionId: first.sessionId });
  const hiding = await ask("", {
    sessionId: first.sessionId,
    withoutModel: true,
    hides: [
      { turnId: first.id, at: 0 },
      { turnId: first.id, at: 1 },
    ],
  });
  await ask("three", { sessionId: first.sessionId });
  assert.deepEqual(texts(provider.exchanges[2]?.context), ["two", "answer 2", "three"]);
  await ask("other", { fork: { turnId: second.id } });
  assert.deepEqual(texts(provider.exchanges[3]?.context), ["one", "answer 1", "two", "answer 2", "other"]);
  const history = await engine.turns.history(alice, hiding.id);
  assert.deepEqual(
    history.map(({ items }) => texts(items.map(({ item }) => item))),
    [[], ["two", "answer 2"], []],
  );
});

test("[O2] hidden items leave with an export, hidden", async (t) => {
  const here = await testEngine(t);
  const there = await testEngine(t);
  const first = await here.ask("one");
  const hides = [0, 1].map((at) => ({ turnId: first.id, at }));
  await here.ask("", { sessionId: first.sessionId, withoutModel: true, hides });
  await there.engine.transfer.import(alice, here.engine.transfer.export(alice, { sessionId: first.sessionId }));
  await there.ask("two", { sessionId: first.sessionId });
  assert.deepEqual(texts(there.provider.exchanges[0]?.context), ["two"]);
});

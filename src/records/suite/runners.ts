/** What a store must do with runners and controls. Leases have a file of their own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import type { Runner, TurnControl } from "../record-store.ts";
import { runnerLeaseTests } from "./runner-leases.ts";
import {
  ada,
  awkwardText,
  draftOf,
  failedSample,
  finishSampleTurn,
  turnFinishOf,
  noon,
  openSampleTurn,
  openingOf,
  sampleRunnerId,
  startSession,
  type OpenRecordsForTest,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns" | "runners";

export function runnerTests(open: OpenRecordsForTest<Parts>): void {
  runnerLeaseTests(open);

  test("[R1] runners are stored until they are deleted, and listed oldest first", async (context) => {
    const { store } = await open(context);
    const runnerOf = (id: string, startedAt: number): Runner => {
      return { id, host: awkwardText, bootId: "b", pid: 2 ** 31, processStart: "", startedAt };
    };
    const [first, second] = [runnerOf("z", noon), runnerOf("a", noon + 1)];
    await store.runners.insert(second);
    await store.runners.insert(first);
    assert.deepEqual(await store.runners.list(), [first, second]);
    assert.deepEqual(await store.runners.get("z"), first);
    await store.runners.insert({ ...first, startedAt: noon + 2 });
    assert.deepEqual(await store.runners.list(), [second, { ...first, startedAt: noon + 2 }]);
    await store.runners.delete("z");
    await store.runners.delete("z");
    assert.equal(await store.runners.get("z"), null);
    assert.deepEqual(await store.runners.list(), [second]);
  });

  test("[R3] a control is there for the runner of its turn until it is deleted, oldest first", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const mine = await openSampleTurn(store, openingOf(draftOf(session)));
    const subagent = await openSampleTurn(store, openingOf(draftOf(session, { kind: "async_subagent" })));
    const elsewhere = await openSampleTurn(
      store,
      openingOf(draftOf(await startSession(store), { runnerId: "runner-2" })),
    );
    assert.deepEqual(await store.runners.listControls(sampleRunnerId), []);
    const [late, early, same, theirs] = [
      controlOf(mine.id, { at: noon + 2 }),
      controlOf(subagent.id, { at: noon + 1, kind: "steer", text: awkwardText }),
      controlOf(mine.id, { at: noon + 2 }),
      controlOf(elsewhere.id, {}),
    ];
    for (const control of [late, early, theirs, same]) await store.runners.insertControl(control);
    const lates = [late, same].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    for (let round = 0; round < 2; round += 1)
      assert.deepEqual(await store.runners.listControls(sampleRunnerId), [early, ...lates]);
    await store.runners.deleteControls([early.id, same.id, newId()]);
    await store.runners.deleteControls([]);
    assert.deepEqual(await store.runners.listControls(sampleRunnerId), [late]);
    assert.deepEqual(await store.runners.listControls("runner-2"), [theirs]);
  });

  test("[R3] a control of a finished or unknown turn is not delivered, and is not stored", async (context) => {
    const { store } = await open(context);
    const before = controlOf(newId(), {});
    const turn = await openSampleTurn(store, openingOf(draftOf(await startSession(store))));
    const during = controlOf(turn.id, {});
    assert.equal(await store.runners.insertControl(before), false);
    assert.equal(await store.runners.insertControl(during), true);
    await finishSampleTurn(store, failedSample(turn));
    assert.deepEqual(await store.runners.listControls(sampleRunnerId), []);
    assert.equal(await store.runners.insertControl(during), false);
    assert.deepEqual(await store.runners.listControls(sampleRunnerId), []);
  });

  test("[R3] a turn that must take its controls first does not finish before it has", async (context) => {
    const { store } = await open(context);
    const turn = await openSampleTurn(store, openingOf(draftOf(await startSession(store))));
    const end = turnFinishOf(failedSample(turn), { controls: "take first" });
    const control = controlOf(turn.id, {});
    assert.equal(await store.runners.insertControl(control), true);
    assert.deepEqual(await store.turns.finish(end), { outcome: "controlled" });
    assert.deepEqual(await store.turns.finish({ ...end, runnerId: "runner-2" }), { outcome: "refused", turn });
    assert.deepEqual(await store.turns.get(turn.id), turn);
    assert.deepEqual(await store.runners.listControls(sampleRunnerId), [control]);
    assert.deepEqual(await store.turns.finish(end), { outcome: "controlled" });
    await store.runners.deleteControls([control.id]);
    assert.deepEqual(await store.turns.finish(end), { outcome: "finished" });
  });

  test("[V5] [R3] of two answers with one id the first is stored, and of two messages both are accepted", async (context) => {
    const { store } = await open(context);
    const turn = await openSampleTurn(store, openingOf(draftOf(await startSession(store))));
    for (const [kind, isAccepted] of [
      ["answer", false],
      ["steer", true],
    ] as const) {
      const first = controlOf(turn.id, { kind, text: "one" });
      assert.equal(await store.runners.insertControl(first), true);
      assert.equal(await store.runners.insertControl({ ...first, text: "two" }), isAccepted);
      assert.deepEqual(await store.runners.listControls(sampleRunnerId), [first]);
      await store.runners.deleteControls([first.id]);
    }
  });

  test("[R3] when a control and the end of its turn happen at once, the control is taken or its sender is refused", async (context) => {
    const { store, reopen } = await open(context);
    const other = (await reopen?.()) ?? store;
    if (other !== store) context.after(() => other.close());
    for (let round = 0; round < 10; round += 1) {
      const turn = await openSampleTurn(store, openingOf(draftOf(await startSession(store))));
      const [isSent, ended] = await Promise.all([
        other.runners.insertControl(controlOf(turn.id, {})),
        store.turns.finish(turnFinishOf(failedSample(turn), { controls: "take first" })),
      ]);
      assert.equal(isSent, ended.outcome === "controlled", JSON.stringify({ isSent, ended }));
    }
  });
}

function controlOf(turnId: string, over: Partial<TurnControl>): TurnControl {
  return { id: newId(), turnId, kind: "interrupt", text: "", userId: ada, at: noon, ...over };
}

/** What a store must do across restarts of a process, and beside other processes on the same records. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  completedSample,
  turnFinishOf,
  draftOf,
  failedSample,
  finishSampleTurn,
  needsReopen,
  openSampleTurn,
  openingOf,
  openTwice,
  readSession,
  runSampleTurn,
  startSession,
  type OpenRecordsForTest,
} from "./samples.ts";

export function processTests(open: OpenRecordsForTest): void {
  test("[B3] an acknowledged write is there after the store was closed", async (context) => {
    const { store, reopen } = await open(context);
    if (reopen === null) return context.skip(needsReopen);
    const session = await startSession(store);
    const head = await runSampleTurn(store, session.id);
    const pending = await openSampleTurn(store, openingOf(draftOf(await readSession(store, session.id))));
    const asItWas = await readSession(store, session.id);
    await store.close();

    const again = await reopen();
    context.after(() => again.close());
    assert.deepEqual(await again.sessions.get(session.id), asItWas);
    assert.deepEqual(await again.turns.list(session.id, { limit: 10 }), [pending, head]);
  });

  test("[B4] another process sees what one process wrote", async (context) => {
    const stores = await openTwice(context, open);
    if (stores === null) return;
    const [here, there] = stores;
    const session = await startSession(here);
    assert.deepEqual(await there.sessions.get(session.id), session);
    const turn = await runSampleTurn(there, session.id);
    assert.deepEqual(await here.turns.get(turn.id), turn);
    assert.equal((await readSession(here, session.id)).headTurnId, turn.id);
  });

  test("[T5] [B4] only one turn of a session runs, also across two processes", async (context) => {
    const stores = await openTwice(context, open);
    if (stores === null) return;
    const [here, there] = stores;
    const session = await startSession(here);
    for (let round = 1; round <= 5; round += 1) {
      const both = [here, there, here, there, here, there, here, there];
      const results = await Promise.all(both.map((store) => store.turns.open(openingOf(draftOf(session)))));
      const turns = results.flatMap((result) => (result.outcome === "opened" ? [result.turn] : []));
      assert.deepEqual(
        turns.map((turn) => turn.sequence),
        [round],
      );
      for (const turn of turns) await finishSampleTurn(there, failedSample(turn));
    }
  });

  test("[T2] [B4] a turn ends once, also across two processes", async (context) => {
    const stores = await openTwice(context, open);
    if (stores === null) return;
    const session = await startSession(stores[0]);
    const turn = await openSampleTurn(stores[0], openingOf(draftOf(session)));
    const results = await Promise.all(stores.map((store) => store.turns.finish(turnFinishOf(completedSample(turn)))));
    assert.deepEqual(results.map((result) => result.outcome).toSorted(), ["finished", "refused"]);
    assert.equal((await readSession(stores[0], session.id)).tokensTotal, 500);
  });
}

/** What a store must do across restarts of a process, and beside other processes on the same records. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  completed,
  finishOf,
  draftOf,
  failed,
  finish,
  needsReopen,
  open as opened,
  openingOf,
  openTwice,
  read,
  runTurn,
  startSession,
  type OpenForTest,
} from "./samples.ts";

export function processTests(open: OpenForTest): void {
  test("[B3] an acknowledged write is there after the store was closed", async (context) => {
    const { store, reopen } = await open(context);
    if (reopen === null) return context.skip(needsReopen);
    const session = await startSession(store);
    const head = await runTurn(store, session.id);
    const pending = await opened(store, openingOf(draftOf(await read(store, session.id))));
    const asItWas = await read(store, session.id);
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
    const turn = await runTurn(there, session.id);
    assert.deepEqual(await here.turns.get(turn.id), turn);
    assert.equal((await read(here, session.id)).headTurnId, turn.id);
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
      for (const turn of turns) await finish(there, failed(turn));
    }
  });

  test("[T2] [B4] a turn ends once, also across two processes", async (context) => {
    const stores = await openTwice(context, open);
    if (stores === null) return;
    const session = await startSession(stores[0]);
    const turn = await opened(stores[0], openingOf(draftOf(session)));
    const results = await Promise.all(stores.map((store) => store.turns.finish(finishOf(completed(turn)))));
    assert.deepEqual(results.map((result) => result.outcome).toSorted(), ["finished", "refused"]);
    assert.equal((await read(stores[0], session.id)).tokensTotal, 500);
  });
}

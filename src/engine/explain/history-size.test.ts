/** What history costs: the room of turns and sessions, and what a purge frees of it (B7). */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { alice, testEngine, type TestEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { newId } from "../../domain/ids.ts";
import { openEmbeddedStore } from "../../embedded/embedded-store.ts";

const places = { memory: async () => ({}), database: openDatabase };

async function openDatabase(t: TestContext) {
  const { records, blobs, turnStore } = await openEmbeddedStore({ file: join(await temporaryFolder(t), "records.db") });
  return { records, blobs, turnStore };
}

async function converse({ ask }: TestEngine, turns: number): Promise<{ sessionId: string; turnIds: string[] }> {
  const turnIds: string[] = [];
  let sessionId: string | undefined;
  for (let n = 1; n <= turns; n += 1) {
    const turn = await ask(`question ${n}, at some length`, sessionId === undefined ? {} : { sessionId });
    sessionId = turn.sessionId;
    turnIds.push(turn.id);
  }
  return { sessionId: sessionId ?? "", turnIds };
}

for (const [place, open] of Object.entries(places)) {
  test(`[B7] a session says what it takes by kind and turn, what others need of it, and what a purge frees (${place})`, async (t) => {
    const made = await testEngine(t, { ...(await open(t)), conversation: { history: "replay" } });
    const { engine, ask, deps } = made;
    const { sessionId, turnIds } = await converse(made, 5);
    const size = await engine.explain.size(alice, sessionId);
    assert.deepEqual(
      size.turns.map(({ sequence }) => sequence),
      [5, 4, 3, 2, 1],
    );
    for (const { turnId, bytes, byKind } of size.turns) {
      assert.equal(
        bytes,
        Object.values(byKind).reduce((sum, kind) => sum + kind, 0),
      );
      for (const kind of ["opening", "run", "state", "rows", "texts"] as const) assert.ok(byKind[kind] > 0, kind);
      const blobs = await Promise.all((await deps.blobs.list(`turns/${turnId}/`)).map((key) => deps.blobs.size(key)));
      assert.equal(
        blobs.reduce<number>((sum, one) => sum + (one ?? 0), 0),
        byKind.opening + byKind.run + byKind.state,
      );
    }
    assert.equal(size.total.turns, 5);
    assert.equal(
      size.total.bytes,
      size.turns.reduce((sum, { bytes }) => sum + bytes, 0),
    );
    // Each request repeats the history, which is stored once.
    assert.ok((size.turns[0]?.requestBytes ?? 0) > (size.turns[4]?.requestBytes ?? 0));
    assert.deepEqual(size.purge, { bytes: size.total.bytes, keptTurns: 0, keptBytes: 0 });

    const forked = await ask("another way", { fork: { turnId: turnIds[1] ?? "" } });
    const after = await engine.explain.size(alice, sessionId, { before: 3, limit: 1 });
    assert.deepEqual(
      after.turns.map(({ sequence }) => sequence),
      [2],
    );
    assert.equal(after.purge?.keptTurns, 2);
    assert.equal((after.purge?.keptBytes ?? 0) + (after.purge?.bytes ?? 0), size.total.bytes);
    const fork = await engine.explain.size(alice, forked.sessionId);
    assert.deepEqual([fork.inheritedTurns, fork.total.turns], [2, 1]);

    const sizes = await engine.explain.sizes(alice, { limit: 1 });
    assert.deepEqual([sizes.sessionCount, sizes.total.turns, sizes.isPartial], [2, 6, false]);
    assert.equal(sizes.total.bytes, size.total.bytes + fork.total.bytes);
    assert.deepEqual(
      sizes.sessions.map(({ id, bytes }) => [id, bytes]),
      [[sessionId, size.total.bytes]],
    );

    await engine.tree.remove(alice, sessionId);
    const { bytesFreed, turnsKept } = await engine.tree.purge(alice, sessionId);
    assert.deepEqual([bytesFreed, turnsKept], [after.purge?.bytes, 2]);
  });
}

test("[B7] [H4] only who may purge a session learns what others need of it, and no caller measures what they may not see", async (t) => {
  const made = await testEngine(t);
  const { engine } = made;
  const { sessionId } = await converse(made, 1);
  const colleague = { ...alice, userId: newId(), role: "member" } as const;
  await assert.rejects(engine.explain.size(colleague, sessionId), hasCode("not_found"));
  assert.equal((await engine.explain.sizes(colleague)).sessionCount, 0);
  await engine.sessions.update(alice, sessionId, { isPublic: true });
  assert.equal((await engine.explain.size(colleague, sessionId)).purge, null);
});

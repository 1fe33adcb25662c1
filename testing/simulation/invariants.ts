/** The invariants of a world: cheap checks after each step, all checks when nothing runs. */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import type { Session } from "../../src/domain/session.ts";
import { mayBeParent, type Turn } from "../../src/domain/turn.ts";
import { engineCore, type EngineCore } from "../../src/engine/turn/live/engine-core.ts";
import { transfer } from "../../src/engine/transfer/transfer.ts";
import { verifySession } from "../../src/engine/explain/verify.ts";
import { alice, all, testParts } from "../engine.ts";
import { checkHeads } from "./head-path.ts";
import type { NaiveSession, NaiveTurn } from "./naive-model.ts";
import { coldCore, readingOf, sealTurn } from "./seal-turn.ts";
import { allOfThem, storedSessions } from "./stored-rows.ts";
import type { World } from "./world.ts";

/** Checks after each step: at most one turn runs in a session, finished turns stay unchanged, heads can be continued. */
export async function checkStep(world: World, sessionIds: Iterable<string>): Promise<void> {
  world.checkViolations();
  for (const id of sessionIds) {
    const session = await world.stores.records.sessions.get(id);
    const turns = await world.stores.records.turns.list(id, { limit: allOfThem });
    if (session !== null) checkSession(world, session, turns);
  }
}

function checkSession({ model }: World, session: Session, turns: readonly Turn[]): void {
  const isWhole = model.sessions.get(session.id)?.isPurged === false;
  const pending = turns.filter(({ status, kind }) => status === "pending" && kind === "agent");
  assert.ok(pending.length <= 1, `${pending.length} turns run in one session (T5)`);
  if (isWhole) {
    const sequences = turns.map(({ sequence }) => sequence).toReversed();
    const counted = sequences.map((_, index) => index + 1);
    assert.deepEqual(sequences, counted, "no number is left out (T1)");
    assert.equal(session.lastSequence, turns.length);
  }
  const head = turns.find(({ id }) => id === session.headTurnId);
  assert.ok(session.headTurnId === null || (head !== undefined && mayBeParent(head)), "the head can be continued (S5)");
  for (const turn of turns) {
    const sealed = model.turns.get(turn.id)?.sealed ?? null;
    if (sealed !== null) assert.deepEqual(turn, sealed.row, "a finished turn never changes (T2)");
  }
}

/** Checks everything when nothing runs: every turn is read and compared with the naive model. */
export async function checkAtRest(world: World, { isThorough }: { isThorough: boolean }): Promise<void> {
  const sessions = await storedSessions(world.stores);
  const rows = new Map<string, Turn>();
  for (const session of sessions) {
    const turns = await world.stores.records.turns.list(session.id, { limit: allOfThem });
    for (const turn of turns) rows.set(turn.id, turn);
    checkSession(world, session, turns);
    findTurns(world, turns);
    const { model } = world;
    const mayBeLost = model.hasLostSessions || [...model.making].some(({ isDead }) => isDead);
    assert.ok(model.sessions.has(session.id) || mayBeLost, `no request made the session ${session.id}`);
    world.model.knowSession(session.id);
  }
  for (const turn of rows.values()) assert.notEqual(turn.status, "pending", `turn ${turn.id} is pending for ever (R2)`);
  checkMarks(world, new Map(sessions.map((session) => [session.id, session])));
  checkPresence(world, rows);
  await sealAll(world, rows);
  for (const session of sessions) await checkHeads(world, session);
  await checkBlobs(world, rows);
  if (isThorough) {
    await checkReadings(world);
    const inUse = sessions.filter(({ deletedAt }) => deletedAt === null);
    for (const { id } of inUse) await checkDigests(coldCore(world), id);
    const moved = world.random.pick(inUse.filter(({ lastSequence }) => lastSequence > 0));
    if (moved !== undefined) await checkMove(world, moved.id);
  }
  world.model.stopWishes.clear();
}

/** Checks the digests of a session (D2). */
async function checkDigests(core: EngineCore, sessionId: string): Promise<void> {
  const { fault } = await verifySession(core, alice, { sessionId, onTurn: undefined });
  assert.equal(fault, null, `the session ${sessionId} does not verify (D2)`);
}

/** Checks that a session is the same after a move to another store, and that a second move changes nothing. */
async function checkMove(world: World, sessionId: string): Promise<void> {
  const elsewhere = engineCore(testParts());
  const lines = await all(transfer(coldCore(world)).export(alice, { sessionId }));
  for (const isFirst of [true, false]) {
    const { turnsImported } = await transfer(elsewhere).import(alice, Readable.from(lines));
    assert.equal(turnsImported > 0, isFirst);
  }
  await checkDigests(elsewhere, sessionId);
  for (const { sealed, sessionId: of, id } of world.model.turns.values()) {
    // Events that a full disk kept from being stored stay in the live log.
    if (of !== sessionId || sealed === null || sealed.row.blobs.run === null) continue;
    const reading = await readingOf(engineCore(elsewhere.deps), sealed.row);
    assert.equal(reading, sealed.reading, `the turn ${id} reads otherwise where it was moved to`);
  }
}

/** Adds turns that no caller received: their process died, or the caller never got the answer. */
function findTurns({ model }: World, turns: readonly Turn[]): void {
  for (const turn of turns) {
    const asked = model.asked.find(({ marker }) => marker === turn.workspaceId);
    assert.ok(asked !== undefined, `no request made the turn ${turn.id}`);
    const isKnown = model.turns.has(turn.id);
    const isExplained = asked.faults > 0 || asked.attempts.some(({ process }) => process.isDead);
    assert.ok(isKnown || isExplained, `a refused request left the turn ${turn.id} behind (${asked.marker})`);
    model.know(asked, { turnId: turn.id, sessionId: turn.sessionId });
  }
  const markers = turns.map(({ workspaceId }) => workspaceId);
  assert.equal(new Set(markers).size, markers.length, "one request gave two turns (T13)");
}

/** Checks that marks of sessions are as acknowledged. If requests crossed, the stored mark counts from now on. */
function checkMarks({ model }: World, stored: ReadonlyMap<string, Session>): void {
  for (const known of model.sessions.values()) {
    const session = stored.get(known.id);
    // It is unknown whether the session was purged except for turns that other sessions need.
    known.isPurged ??= true;
    if (session === undefined) {
      assert.ok(
        known.isPurged !== false || isNeverMade(model.turns.values(), known),
        `the session ${known.id} is gone`,
      );
      continue;
    }
    const [isArchived, isRemoved] = [session.archivedAt !== null, session.deletedAt !== null];
    known.isArchived ??= isArchived;
    known.isRemoved ??= isRemoved;
    assert.deepEqual([isArchived, isRemoved], [known.isArchived, known.isRemoved], `the marks of ${known.id} (S6)`);
  }
}

function isNeverMade(turns: Iterable<NaiveTurn>, session: NaiveSession): boolean {
  return ![...turns].some((turn) => turn.sessionId === session.id);
}

/** Checks B3: what was acknowledged is stored, unless it was purged. What other sessions need is stored even then (S6). */
function checkPresence({ model }: World, rows: ReadonlyMap<string, Turn>): void {
  for (const turn of model.turns.values()) {
    const isThere = rows.has(turn.id);
    const { isPurged } = model.knowSession(turn.sessionId);
    if (!isThere && isPurged === false) assert.ok(!turn.isAcknowledged, `the turn ${turn.id} is lost (B3)`);
    const parent = rows.get(turn.id)?.parentId ?? null;
    assert.ok(parent === null || rows.has(parent), `the turn ${turn.id} has lost its parent (S6)`);
    if (!isThere) model.turns.delete(turn.id);
  }
}

/** Returns the sessions with parents before their children. */
async function sealAll(world: World, rows: ReadonlyMap<string, Turn>): Promise<void> {
  for (const row of [...rows.values()].toSorted((a, b) => a.depth - b.depth)) {
    const turn = world.model.turns.get(row.id);
    if (turn === undefined || turn.sealed !== null || row.status === "pending" || row.status === "archived") continue;
    try {
      turn.sealed = await sealTurn(world, turn, row);
    } catch (error) {
      throw new Error(`the turn of ${turn.asked.marker} is not what it should be`, { cause: error });
    }
  }
}

/** Checks that everything that can be read of a turn is unchanged, also after garbage collection and purges of others. */
async function checkReadings(world: World): Promise<void> {
  for (const { id, sealed } of world.model.turns.values()) {
    if (sealed === null) continue;
    const reading = await readingOf(coldCore(world), sealed.row);
    assert.equal(reading, sealed.reading, `the turn ${id} reads otherwise than before (T2)`);
  }
}

/** Returns the blobs that the rows name. All of them must exist (B1). */
async function checkBlobs(world: World, rows: ReadonlyMap<string, Turn>): Promise<void> {
  const stored = new Set(await world.stores.blobs.list("turns/"));
  for (const key of await namedBlobs(world, rows.values())) assert.ok(stored.has(key), `${key} is not there (B1)`);
}

async function namedBlobs({ stores }: World, turns: Iterable<Turn>): Promise<Set<string>> {
  const named = new Set<string>();
  for (const { id, blobs } of turns) {
    for (const key of [blobs.opening, blobs.run, blobs.state]) if (key !== null) named.add(key);
    for (const step of await stores.records.turns.listSteps(id)) named.add(step.request.blob);
  }
  return named;
}

/** Returns the blobs that nothing names: only these may be collected (K4). */
export async function unreachableBlobs(world: World): Promise<string[]> {
  const turns: Turn[] = [];
  for (const { id } of await storedSessions(world.stores))
    turns.push(...(await world.stores.records.turns.list(id, { limit: allOfThem })));
  const named = await namedBlobs(world, turns);
  return (await world.stores.blobs.list("turns/")).filter((key) => !named.has(key)).toSorted();
}

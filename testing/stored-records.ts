/**
 * Records as each version wrote them, kept to prove that every later version still opens them (B2): the tables for
 * each engine, the rows for both, and what a store must read from them.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { ApiKey, User } from "../src/domain/caller.ts";
import type { PairingCode } from "../src/domain/device.ts";
import type { Session } from "../src/domain/session.ts";
import type { Step } from "../src/domain/step.ts";
import { mayBeParent, type Turn } from "../src/domain/turn.ts";
import type {
  DeviceOwner,
  HeadMove,
  IdempotentRequest,
  RecordStore,
  Runner,
  TextHit,
  TurnControl,
} from "../src/records/record-store.ts";
import { runTurn } from "../src/records/suite/samples.ts";

/** The versions of which records are kept. */
export const storedVersions = [1, 2, 3, 4];

interface Expected {
  sessions: Session[];
  turns: Turn[];
  steps: Step[];
  runners: Runner[];
  users: User[];
  keys: ApiKey[];
  idempotent: IdempotentRequest[];
  headMoves: HeadMove[];
  controls: TurnControl[];
  devices: DeviceOwner[];
  pairingCodes: PairingCode[];
  searches: { words: string[]; matches: TextHit["matches"] }[];
}

function read(version: number, name: string): string {
  return readFileSync(new URL(`./fixtures/records-v${version}/${name}`, import.meta.url), "utf8");
}

/** SQL that makes a database of this version. */
export function storedRecords(version: number, engine: "sqlite" | "postgres"): string {
  return read(version, `tables.${engine}.sql`) + read(version, "rows.sql");
}

/** Reads everything back, and continues a session. */
export async function readsStoredRecords(store: RecordStore, version: number): Promise<void> {
  // Versions before 4 knew no devices.
  const unpaired = { devices: [], pairingCodes: [] };
  const stored = { ...unpaired, ...(JSON.parse(read(version, "expected.json")) as Expected) };
  // Versions 1 and 2 kept no sums of costs, and the turns in these rows of theirs have none.
  const sessions = stored.sessions.map((session) => (version < 3 ? { ...session, costUsd: 0 } : session));
  const keys = stored.keys.map((key) => (version < 4 ? { ...key, deviceId: null } : key));
  // Versions before 5 knew no more of a user than name and role.
  const unknown = { email: null, externalId: null, disabledAt: null };
  const users = stored.users.map((user) => (version < 5 ? { ...user, ...unknown } : user));
  const expected = { ...stored, sessions, keys, users };
  for (const session of expected.sessions) assert.deepEqual(await store.sessions.get(session.id), session);
  for (const turn of expected.turns) {
    assert.deepEqual(await store.turns.get(turn.id), turn);
    const steps = expected.steps.filter((step) => step.turnId === turn.id);
    assert.deepEqual(await store.turns.listSteps(turn.id), steps);
    assert.equal(await store.sessions.isParticipant(turn.sessionId, turn.createdBy), true);
  }
  const statuses = new Set(expected.turns.map((turn) => turn.status));
  assert.equal(statuses.size, 5, "the rows have a turn of every status");
  await readsPeople(store, expected);
  await readsTree(store, expected);

  const head = expected.turns.filter(mayBeParent).at(-1) ?? assert.fail("the rows have no head");
  const next = await runTurn(store, head.sessionId);
  assert.equal(next.parentId, head.id);
}

async function readsPeople(store: RecordStore, expected: Expected): Promise<void> {
  assert.deepEqual(await store.runners.list(), expected.runners);
  for (const user of expected.users) assert.deepEqual(await store.people.getUser(user.id), user);
  for (const key of expected.keys) {
    const [holder] = await store.keys.find([key.hash]);
    assert.deepEqual(holder?.key, key);
    // An org that was only an id has a row now: without a row no user could sign in.
    assert.equal(holder.org?.id, holder.user.orgId);
  }
  for (const request of expected.idempotent) {
    assert.deepEqual(await store.turns.findIdempotent(request.userId, request.key), request);
  }
  for (const device of expected.devices) {
    assert.deepEqual(await store.devices.register({ ...device, userId: "another user", at: 0 }), device);
  }
  for (const code of expected.pairingCodes) assert.deepEqual(await store.devices.getCode(code.id), code);
}

async function readsTree(store: RecordStore, expected: Expected): Promise<void> {
  const forks = expected.sessions.filter((session) => session.originTurnId !== null && session.deletedAt === null);
  assert.ok(forks.length > 0, "the rows have a fork");
  assert.deepEqual(await store.sessions.listForks(expected.turns.map((turn) => turn.id)), forks);
  for (const { id } of expected.sessions) {
    const moves = expected.headMoves.filter((move) => move.sessionId === id);
    assert.deepEqual(await store.sessions.listHeadMoves(id), moves);
  }
  const taken = await Promise.all(expected.runners.map(({ id }) => store.runners.takeControls(id)));
  assert.deepEqual(taken.flat(), expected.controls);
  const [{ orgId, id: userId } = assert.fail("the rows have no user")] = expected.users;
  for (const { words, matches } of expected.searches) {
    const hits = await store.search.find({ orgId, userId, words, limit: 10 });
    const found = hits.flatMap((hit) => hit.matches);
    assert.deepEqual(found, matches, words.join(" "));
  }
}

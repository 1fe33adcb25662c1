/** The memory store is the obvious model of the contract: for the same requests, SQL returns the same results. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { newId } from "../../domain/ids.ts";
import type { Session } from "../../domain/session.ts";
import type { PendingTurn } from "../../domain/turn.ts";
import { memoryRecords } from "../memory/memory-records.ts";
import type { RecordStore } from "../record-store.ts";
import {
  inviteUser,
  awkwardText,
  completedSample,
  draftOf,
  failedSample,
  turnFinishOf,
  noon,
  openingOf,
  parkedSample,
  requestOf,
  sampleRunnerId,
  sessionOf,
  stepOf,
} from "../suite/samples.ts";
import { sqlRecords } from "./sql-records.ts";
import { openDatabase, sqliteEngine } from "./sqlite/sqlite.ts";

/** The texts of turns. They contain the words that are searched, and characters that a database might interpret. */
const texts = ["Grüße, 100% ÅRHUS", "ΟΔΥΣΣΕΥΣ snake_case", awkwardText, "İstanbul e\u0301", "plain words"];
const words = ["GRÜßE", "%", "_", "οδυσσευς", "\u0000", "so'", "istanbul", "É", "words", "a"];

/** One request. Sessions, turns and users are chosen by small numbers, so that requests often concern the same ones. */
const command = fc.record({
  does: fc.constantFrom(
    ...(["open", "open", "open", "finish", "finish", "finish", "finish", "finish", "move", "move", "fork"] as const),
    ...(["insert", "renew", "lose", "patch", "mark", "purge", "control", "take"] as const),
  ),
  session: fc.nat({ max: 2 }),
  turn: fc.nat({ max: 3 }),
  user: fc.constantFrom("user-ada", "user-bob"),
  text: fc.constantFrom(...texts),
  at: fc.nat({ max: 5 }).map((step) => noon + step * 700),
  end: fc.constantFrom(completedSample, parkedSample, failedSample),
  key: fc.option(fc.constantFrom("key-1", "key-2"), { freq: 3 }),
  isNew: fc.boolean(),
  isSubagent: fc.boolean(),
  movesHead: fc.boolean(),
  /** Rarely true: most requests should succeed. */
  isWrong: fc.nat({ max: 4 }).map((dice) => dice === 0),
});
type Command = typeof command extends fc.Arbitrary<infer Each> ? Each : never;

/** Sends every request to both stores, in an org that no other test uses. */
class Comparison {
  readonly #stores: readonly [RecordStore, RecordStore];
  readonly #org = `org-${newId()}`;
  readonly #sessions: Session[] = [];
  /** Every turn that a store opened, newest first. */
  readonly #turns: PendingTurn[] = [];

  constructor(model: RecordStore, store: RecordStore) {
    this.#stores = [model, store];
  }

  async run(request: Command): Promise<void> {
    if (this.#sessions.length === 0) return await this.#insert(request);
    const { id } = this.#session(request);
    const { at, text } = request;
    switch (request.does) {
      case "insert":
        return await this.#insert(request);
      case "open":
      case "fork":
        return await this.#open(request);
      case "finish":
        return await this.#finish(request);
      case "renew":
        return await this.#renew(request);
      case "lose":
        return await this.#lose(request);
      case "patch":
        return void (await this.#same((store) => store.sessions.update(id, { name: text }, at)));
      case "move":
        return await this.#move(request);
      case "mark":
        return await this.#mark(request);
      case "purge":
        return await this.#purge(request);
      case "control":
        return await this.#control(request);
      case "take":
        return await this.#take();
    }
  }

  /** Compares everything that can be read. */
  async compareAll(): Promise<void> {
    for (const { id } of this.#sessions) {
      await this.#same((store) => store.sessions.get(id));
      await this.#same((store) => store.turns.list(id, { limit: 100 }));
      await this.#same((store) => store.turns.findPending(id));
      await this.#same((store) => store.sessions.listHeadMoves(id));
      await this.#same(async (store) => (await store.purges.sharedTurnIds(id)).toSorted());
    }
    const ids = this.#turns.map((turn) => turn.id);
    const sessionIds = this.#sessions.map(({ id }) => id);
    await this.#same(async (store) => (await store.purges.existingTurnIds(ids)).toSorted());
    for (const id of ids) {
      await this.#same((store) => store.turns.listSteps(id));
      await this.#same(async (store) => (await store.purges.blobKeysOf(id)).toSorted());
    }
    for (const userId of ["user-ada", "user-bob", "user-eve"]) {
      const scope = { orgId: this.#org, userId };
      await this.#same((store) => store.sessions.list({ ...scope, limit: 100 }));
      await this.#same((store) => store.sessions.list({ ...scope, isRoot: true, limit: 100 }));
      await this.#same((store) => store.sessions.listForks({ ...scope, below: { turnIds: ids }, perTurnMax: 2 }));
      await this.#same((store) => store.sessions.listForks({ ...scope, below: { sessionIds }, perTurnMax: 2 }));
      await this.#same((store) => store.sessions.listDeleted({ orgId: this.#org, userId, limit: 100 }));
      for (const found of [...words.map((word) => [word]), words.slice(0, 2), words.slice(-2)]) {
        await this.#same((store) => store.search.find({ orgId: this.#org, userId, words: found, limit: 100 }));
      }
      for (const { id } of this.#sessions) await this.#same((store) => store.sessions.isParticipant(id, userId));
      for (const key of ["key-1", "key-2"])
        await this.#same((store) => store.turns.findIdempotent(this.#org + userId, key));
    }
  }

  get #runner(): string {
    return `${sampleRunnerId} of ${this.#org}`;
  }

  #session({ session }: Command): Session {
    return this.#sessions[session % this.#sessions.length] ?? assert.fail("there is no session");
  }

  async #insert({ user, at, isSubagent, isWrong }: Command): Promise<void> {
    const archivedAt = isWrong ? at : null;
    const session = sessionOf({ orgId: this.#org, userId: user, isPublic: isSubagent, activeAt: at, archivedAt });
    this.#sessions.push(session);
    await this.#same((store) => store.sessions.insert(session));
  }

  async #open(request: Command): Promise<void> {
    const { user, at, key, isNew, isSubagent, isWrong } = request;
    const parent = request.does === "fork" ? this.#turn(request) : undefined;
    const originTurnId = parent?.id ?? null;
    const newSession =
      isNew || parent !== undefined ? sessionOf({ orgId: this.#org, userId: user, originTurnId }) : null;
    const session = newSession ?? (await this.#stores[0].sessions.get(this.#session(request).id)) ?? sessionOf();
    const kind = isSubagent ? "async_subagent" : "agent";
    const origin = originTurnId === null ? {} : { parentId: originTurnId };
    // A user who neither owns the session nor takes part in it cannot open a turn (S7).
    if (!isWrong) await this.#same((store) => inviteUser(store, session.id, user));
    const turn = draftOf(session, { kind, createdBy: user, createdAt: at, runnerId: this.#runner, ...origin });
    const idempotency = key === null ? null : requestOf(turn, { userId: this.#org + user, key });
    const expectedHead = isWrong ? newId() : session.headTurnId;
    const opening = openingOf(turn, { newSession, expectedHead, idempotency, leaseMs: at - noon });
    const result = await this.#same((store) => store.turns.open(opening));
    if (result.outcome !== "opened") return;
    this.#turns.unshift(result.turn);
    if (newSession !== null) this.#sessions.push(newSession);
  }

  async #finish(request: Command): Promise<void> {
    const { end, at, movesHead, isWrong, text } = request;
    const turn = this.#turn(request);
    if (turn === undefined) return;
    const finish = turnFinishOf(end(turn, { at }), {
      runnerId: isWrong ? "a stranger" : this.#runner,
      head: movesHead ? { from: turn.parentId } : null,
      steps: [stepOf(turn.id, 1)],
      text: { instruction: text, answer: `an answer\nto ${text}` },
    });
    await this.#same((store) => store.turns.finish(finish));
  }

  async #renew({ at, isWrong }: Command): Promise<void> {
    const turnIds = [newId(), ...this.#turns.map(({ id }) => id)];
    const runnerId = isWrong ? "a stranger" : this.#runner;
    await this.#same(async (store) =>
      (await store.runners.renewLeases({ runnerId, turnIds, leaseMs: at - noon })).toSorted(),
    );
  }

  /** Takes over a turn whose lease expired. A lease that was given at the same time has not expired: the stores' clock stands still. */
  async #lose(request: Command): Promise<void> {
    const { id: turnId } = this.#turn(request) ?? { id: newId() };
    const deadRunnerIds = request.isWrong ? [this.#runner] : [];
    const taking = { runnerId: `a recoverer of ${this.#org}`, leaseMs: 1, deadRunnerIds, limit: 5, turnId };
    await this.#same((store) => store.runners.takeLostTurns(taking));
  }

  async #move(request: Command): Promise<void> {
    const turn = this.#turn(request);
    const to = turn?.id ?? newId();
    const sessionId = turn === undefined || request.isSubagent ? this.#session(request).id : turn.sessionId;
    const headTurnId = (await this.#stores[0].sessions.get(sessionId))?.headTurnId ?? null;
    const from = request.isWrong ? newId() : headTurnId;
    await this.#same((store) => store.sessions.moveHead({ sessionId, from, to, userId: request.user, at: request.at }));
  }

  async #mark(request: Command): Promise<void> {
    const mark = request.isNew ? request.at : null;
    const marks = request.isSubagent ? { archivedAt: mark } : { deletedAt: mark };
    await this.#same((store) => store.sessions.update(this.#session(request).id, marks, request.at));
  }

  async #purge(request: Command): Promise<void> {
    const { id } = this.#session(request);
    const kept = request.isWrong ? [] : await this.#stores[0].purges.sharedTurnIds(id);
    await this.#same((store) => store.purges.purgeSession(id, kept));
  }

  /** Reads the controls, and deletes the first of them. */
  async #take(): Promise<void> {
    const [first] = await this.#same((store) => store.runners.listControls(this.#runner));
    if (first !== undefined) await this.#same((store) => store.runners.deleteControls([first.id]));
  }

  async #control(request: Command): Promise<void> {
    const { user: userId, text, at } = request;
    const control = {
      id: newId(),
      turnId: this.#turn(request)?.id ?? newId(),
      kind: "steer" as const,
      text,
      userId,
      at,
    };
    await this.#same((store) => store.runners.insertControl(control));
  }

  #turn({ turn }: Command): PendingTurn | undefined {
    return this.#turns[turn];
  }

  async #same<T>(ask: (store: RecordStore) => Promise<T>): Promise<T> {
    const [model, store] = this.#stores;
    const expected = await ask(model);
    assert.deepEqual(await ask(store), expected);
    return expected;
  }
}

test("[B2] SQL and memory give equal results for every sequence of requests", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "aptove-records-"));
  context.after(() => rm(folder, { recursive: true }));
  const database = openDatabase(join(folder, "records.db"));
  // The test writes thousands of rows, and none of them has to survive a crash.
  database.pragma("synchronous = off");
  const store = await sqlRecords(sqliteEngine(database, () => noon));
  context.after(() => store.close());
  const property = fc.asyncProperty(fc.array(command, { minLength: 20, maxLength: 50 }), async (commands) => {
    const comparison = new Comparison(memoryRecords({ now: () => noon }), store);
    for (const request of commands) await comparison.run(request);
    await comparison.compareAll();
  });
  await fc.assert(property, { numRuns: 60 });
});

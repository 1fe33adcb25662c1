/**
 * Random forests of sessions that fork from each other, compared with a naive model in which every turn holds a copy of its
 * whole history. Whatever is purged, and in whatever order, each turn that is left has its history, and nothing is left
 * that no session needs (S6).
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type * as FastCheck from "fast-check";
import { mayBeParent, type FinishedTurn } from "../../domain/turn.ts";
import {
  ada,
  completedSample,
  draftOf,
  failedSample,
  finishSampleTurn,
  forkOf,
  noon,
  openSampleTurn,
  openingOf,
  readSession,
  startSession,
  type OpenRecordsForTest,
  type RecordsWith,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns" | "purges";
type Records = RecordsWith<Parts>;

const commandOf = (fc: typeof FastCheck) =>
  fc.record({
    does: fc.constantFrom("start", "go on", "go on", "fail", "fork", "fork", "fork empty", "go back", "purge"),
    /** The index of the session or turn, modulo their number. */
    pick: fc.nat({ max: 1_000 }),
  });
type Command = ReturnType<typeof commandOf> extends FastCheck.Arbitrary<infer Each> ? Each : never;

export function purgeForestTests(open: OpenRecordsForTest<Parts>): void {
  test("[S6] in any forest of forks a purge deletes what no other session needs, and nothing else", async (context) => {
    const { store } = await open(context);
    // It is loaded only where the suite runs: users of the stores do not have it.
    const fc = await import("fast-check");
    const property = fc.asyncProperty(fc.array(commandOf(fc), { minLength: 5, maxLength: 25 }), async (commands) => {
      const forest = new Forest(store);
      for (const each of commands) await forest.run(each);
      await forest.check();
      await forest.purgeAll();
    });
    await fc.assert(property, { numRuns: 12 });
  });
}

interface Copy {
  turn: FinishedTurn;
  /** The ids of the turn's ancestors, then its own. */
  history: string[];
}
interface Tree {
  id: string;
  /** The history of the turn from which the session was forked. */
  origin: string[];
  isPurged: boolean;
}

class Forest {
  readonly #store: Records;
  readonly #copies = new Map<string, Copy>();
  readonly #trees = new Map<string, Tree>();
  /** The ids of all turns that ever existed. */
  readonly #all: string[] = [];

  constructor(store: Records) {
    this.#store = store;
  }

  async run({ does, pick }: Command): Promise<void> {
    const [copy, tree] = [this.#pickOf(this.#parents(), pick), this.#pickOf([...this.#trees.values()], pick)];
    if (does === "start" || copy === undefined || tree === undefined) await this.#start();
    else if (does === "fork") await this.#fork(copy);
    else if (does === "fork empty") await this.#forkEmpty(copy);
    else if (does === "purge") await this.#purge(tree);
    else if (tree.isPurged) await this.#start();
    else if (does === "go back") await this.#goBack(tree, pick);
    else await this.#goOn(tree, does === "fail");
  }

  /** Compares every turn that ever existed with the model. */
  async check(): Promise<void> {
    for (const id of this.#all) assert.deepEqual(await this.#store.turns.get(id), this.#copies.get(id)?.turn ?? null);
    for (const { turn, history } of this.#copies.values()) assert.deepEqual(await this.#walk(turn), history);
    for (const { id } of this.#trees.values()) await readSession(this.#store, id);
  }

  /** Purges all sessions in a random order. Afterwards nothing is left. */
  async purgeAll(): Promise<void> {
    while (this.#trees.size > 0) {
      const before = this.#copies.size + this.#trees.size;
      for (const tree of [...this.#trees.values()]) await this.#purge(tree);
      assert.ok(this.#copies.size + this.#trees.size < before, "what is left keeps itself");
    }
    await this.check();
  }

  #pickOf<Each>(each: readonly Each[], pick: number): Each | undefined {
    return each[pick % each.length];
  }

  #parents(): Copy[] {
    return [...this.#copies.values()].filter(({ turn }) => mayBeParent(turn));
  }

  async #start(): Promise<void> {
    const { id } = await startSession(this.#store);
    const tree = { id, origin: [], isPurged: false };
    this.#trees.set(id, tree);
    await this.#goOn(tree, false);
  }

  async #goOn(tree: Tree, fails: boolean): Promise<void> {
    const session = await readSession(this.#store, tree.id);
    const parent = this.#copies.get(session.headTurnId ?? tree.origin.at(-1) ?? "");
    const place = { parentId: parent?.turn.id ?? null, depth: (parent?.turn.depth ?? 0) + 1 };
    const opening = openingOf(draftOf(session, place), { expectedHead: session.headTurnId });
    const turn = await openSampleTurn(this.#store, opening);
    const end = fails ? failedSample(turn) : completedSample(turn);
    await finishSampleTurn(this.#store, end, { head: { from: session.headTurnId } });
    this.#remember(end, parent?.history ?? []);
  }

  async #fork(origin: Copy): Promise<void> {
    const opening = forkOf(origin.turn);
    this.#trees.set(opening.newSession.id, { id: opening.newSession.id, origin: origin.history, isPurged: false });
    const end = completedSample(await openSampleTurn(this.#store, opening));
    await finishSampleTurn(this.#store, end, { head: { from: null } });
    this.#remember(end, origin.history);
  }

  async #forkEmpty(origin: Copy): Promise<void> {
    const { id } = await startSession(this.#store, { originTurnId: origin.turn.id });
    this.#trees.set(id, { id, origin: origin.history, isPurged: false });
  }

  async #goBack(tree: Tree, pick: number): Promise<void> {
    const to = this.#pickOf(
      this.#parents().filter(({ turn }) => turn.sessionId === tree.id),
      pick,
    );
    if (to === undefined) return;
    const { headTurnId } = await readSession(this.#store, tree.id);
    const move = { sessionId: tree.id, from: headTurnId, to: to.turn.id, userId: ada, at: noon };
    assert.deepEqual(await this.#store.sessions.moveHead(move), { outcome: "moved" });
  }

  async #purge(tree: Tree): Promise<void> {
    const own = [...this.#copies.values()].filter(({ turn }) => turn.sessionId === tree.id).map(({ turn }) => turn.id);
    const needed = new Set([
      ...[...this.#copies.values()].filter(({ turn }) => turn.sessionId !== tree.id).flatMap(({ history }) => history),
      ...[...this.#trees.values()].filter(({ id }) => id !== tree.id).flatMap(({ origin }) => origin),
    ]);
    const kept = own.filter((id) => needed.has(id));
    assert.deepEqual((await this.#store.purges.sharedTurnIds(tree.id)).toSorted(), kept.toSorted());
    if (kept.length > 0) assert.equal(await this.#store.purges.purgeSession(tree.id, kept.slice(1)), false);
    assert.equal(await this.#store.purges.purgeSession(tree.id, kept), true);
    for (const id of own) if (!needed.has(id)) this.#copies.delete(id);
    if (kept.length > 0) tree.isPurged = true;
    else {
      this.#trees.delete(tree.id);
      assert.equal(await this.#store.sessions.get(tree.id), null);
    }
  }

  #remember(turn: FinishedTurn, before: readonly string[]): void {
    this.#copies.set(turn.id, { turn, history: [...before, turn.id] });
    this.#all.push(turn.id);
  }

  /** Returns the ids from the root to the turn, as the store has them. */
  async #walk(turn: FinishedTurn): Promise<string[]> {
    const ids = [turn.id];
    for (let parent = turn.parentId; parent !== null;) {
      const above = (await this.#store.turns.get(parent)) ?? assert.fail(`turn ${parent} is gone`);
      ids.unshift(above.id);
      parent = above.parentId;
    }
    return ids;
  }
}

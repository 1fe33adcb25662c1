/** The tree of one session, as far as it is loaded, and what a person unfolded in it. */
import { signal } from "@preact/signals";
import type { WireSession } from "../../src/client/client.ts";
import { client } from "../api/connection.ts";
import { attempted, type Failed } from "../api/loading.ts";
import { markOf } from "../api/thread.ts";
import { ForkPages } from "./fork-pages.ts";
import { forksId, type GraphTurn, type KnownForks } from "./tree-nodes.ts";

export class SessionTree {
  readonly id: string;
  /** The loaded turns, each before its parent. Null: nothing is loaded. */
  readonly turns = signal<readonly GraphTurn[] | null>(null);
  readonly forks = signal<ReadonlyMap<string, KnownForks>>(new Map());
  readonly unfolded = signal<ReadonlySet<string>>(new Set());
  /** The turn after which more can be loaded. Null: there are no more. */
  readonly nextAfter = signal<string | null>(null);
  readonly failed = signal<Failed | null>(null);
  readonly #pages = new ForkPages();
  #loading: Promise<void> = Promise.resolve();
  /** The mark of the session as it was read with the turns. */
  #readMark = "";
  /** What `refresh` loaded the tree for last. */
  #freshMark = "";

  constructor(id: string) {
    this.id = id;
  }

  /** Loads the newest turns, and keeps the older ones that are loaded. One load follows another, so that the last one counts. */
  load(): Promise<void> {
    return (this.#loading = this.#loading.then(() => this.#loadNewest()));
  }

  #loadNewest(): Promise<void> {
    return attempted(this.failed, async () => {
      const page = await client.sessions.graph(this.id);
      this.#readMark = markOf(page.session);
      const known = new Set(page.turns.map(({ id }) => id));
      const older = this.turns.value?.filter(({ id }) => !known.has(id)) ?? [];
      this.#addForks(page);
      if (this.turns.value === null || older.length === 0) this.nextAfter.value = page.nextAfter;
      this.turns.value = [...page.turns, ...older];
    });
  }

  /** Loads again if the session is another one than when it was read, or if one of the sessions is a fork that is not known. */
  async refresh(session: WireSession, sessions: readonly WireSession[]): Promise<void> {
    const turns = new Set(this.turns.value?.map(({ id }) => id));
    const isNew = ({ id, originTurnId }: WireSession): boolean =>
      originTurnId !== null &&
      turns.has(originTurnId) &&
      this.forks.value.get(originTurnId)?.sessions.some((fork) => fork.id === id) !== true;
    const mark = markOf(session);
    const fresh = [...(mark === this.#readMark ? [] : [mark]), ...sessions.filter(isNew).map(({ id }) => id)].join(" ");
    // What was loaded for this already may be newer than the session, or not have all forks of a turn.
    if (this.turns.value === null || fresh === "" || fresh === this.#freshMark) return;
    this.#freshMark = fresh;
    await this.load();
  }

  /** Loads the turns before the oldest loaded one. */
  more(): Promise<void> {
    const after = this.nextAfter.value;
    if (after === null) return Promise.resolve();
    return attempted(this.failed, async () => {
      const page = await client.sessions.graph(this.id, { after });
      this.#addForks(page);
      this.nextAfter.value = page.nextAfter;
      this.turns.value = [...(this.turns.value ?? []), ...page.turns];
    });
  }

  unfold(id: string): void {
    this.unfolded.value = new Set([...this.unfolded.value, id]);
  }

  foldAll(): void {
    this.unfolded.value = new Set();
  }

  /** Shows more forks of a turn: those that are known, then a page more each time. */
  moreForks(turnId: string): Promise<void> {
    return attempted(this.failed, async () => {
      const { sessions, isAll } = await this.#pages.more(turnId);
      const count = Math.max(isAll ? 0 : (this.forks.value.get(turnId)?.count ?? 0), sessions.length);
      this.forks.value = new Map([...this.forks.value, [turnId, { sessions, count }]]);
      this.unfold(forksId(turnId));
    });
  }

  #addForks({ forks, forkCounts }: Awaited<ReturnType<typeof client.sessions.graph>>): void {
    const newest = Map.groupBy(forks, ({ originTurnId }) => originTurnId ?? "");
    const known = new Map(this.forks.value);
    for (const { turnId, count } of forkCounts) {
      // What a person asked for stays as it is.
      if (!this.#pages.has(turnId)) known.set(turnId, { sessions: newest.get(turnId) ?? [], count });
    }
    this.forks.value = known;
  }
}

/** The tree of one session, as far as it is loaded, and what a person unfolded in it. */
import { signal } from "@preact/signals";
import { client } from "../api/connection.ts";
import { attempted, type Failed } from "../api/loading.ts";
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
  /** The number of turns of the session when it was read. */
  #turnCount = 0;

  constructor(id: string) {
    this.id = id;
  }

  /** Loads the newest turns, and keeps the older ones that are loaded. */
  load(): Promise<void> {
    return attempted(this.failed, async () => {
      const page = await client.sessions.graph(this.id);
      const known = new Set(page.turns.map(({ id }) => id));
      const older = this.turns.value?.filter(({ id }) => !known.has(id)) ?? [];
      this.#addForks(page);
      this.#turnCount = page.session.turnCount;
      if (this.turns.value === null || older.length === 0) this.nextAfter.value = page.nextAfter;
      this.turns.value = [...page.turns, ...older];
    });
  }

  /** Loads again if the session has more turns than when it was read. */
  async refresh(turnCount: number): Promise<void> {
    if (this.turns.value !== null && turnCount > this.#turnCount) await this.load();
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

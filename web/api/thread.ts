/** One open conversation: the session, its turns as far as they are loaded, the turn that runs, and what a person may do with them. */
import { batch, computed, effect, signal } from "@preact/signals";
import type {
  ExecuteAccepted,
  ExecuteRequest,
  WirePin,
  WireSession,
  WireTurnName,
  WireTurnList,
} from "../../src/client/client.ts";
import { client, codeOf, wordsOf } from "./connection.ts";
import { look, newest, openedSession } from "./live.ts";
import type { Failed } from "./loading.ts";
import { followTurn, type FollowedTurn } from "./running-turn.ts";

export type ListedTurn = WireTurnList["turns"][number];

const pageSize = 50;
/** Only the newest turns stay as they were drawn: their events take more room than their answers. */
const followedMax = 5;

export class Thread {
  readonly id: string;
  readonly session = signal<WireSession | null>(null);
  /** The turns that are loaded, by id: those of this session, and those above it that it was forked from. */
  readonly turns = signal<ReadonlyMap<string, ListedTurn>>(new Map());
  /** The turn at whose end the conversation is shown. Null: the newest turn below the head, else the head. */
  readonly tip = signal<string | null>(null);
  readonly running = signal<{ turnId: string; followed: FollowedTurn } | null>(null);
  /** The turns that this tab has followed, by id. They stay as they were drawn, so nothing jumps when a turn ends. */
  readonly followed = signal<ReadonlyMap<string, FollowedTurn>>(new Map());
  readonly pins = signal<readonly WirePin[]>([]);
  /** The names that people gave turns, by the id of the turn. */
  readonly names = signal<ReadonlyMap<string, string>>(new Map());
  readonly failed = signal<Failed | null>(null);
  /** The conversation: from the oldest loaded turn to the tip. */
  readonly path = computed(() =>
    pathTo(this.turns.value, this.tip.value ?? tipOf(this.session.value, this.turns.value)),
  );
  /** The turns of the agent that continue each turn, oldest first. Those that begin the session are under the empty id. */
  readonly children = computed(() => {
    const agents = [...this.turns.value.values()].filter(({ kind }) => kind === "agent");
    return Map.groupBy(
      agents.toSorted((a, b) => a.sequence - b.sequence),
      ({ parentId }) => parentId ?? "",
    );
  });
  readonly #stopWatching: () => void;
  #isClosed = false;
  #loading: Promise<void> | null = null;
  /** True if something may have changed since the load that runs has begun. */
  #isStale = false;

  constructor(id: string) {
    this.id = id;
    // The sessions are asked for regularly. If this one has changed, it is read again. A load that runs meanwhile may have read
    // the session before the change and the turns after it, so another one follows it.
    const mark = computed(() => {
      const row = [...(newest.value ?? []), openedSession.value].find((one) => one?.id === id);
      return row == null ? null : markOf(row);
    });
    this.#stopWatching = effect(() => {
      const known = this.session.peek();
      if (mark.value === null) return;
      if (this.#loading !== null || (known !== null && mark.value !== markOf(known))) void this.load();
    });
  }

  /** Resolves when everything is as new as this call, or failed. Calls during a load share one more load. Never rejects. */
  async load(): Promise<void> {
    this.#isStale = true;
    await (this.#loading ??= this.#loadUntilFresh().finally(() => (this.#loading = null)));
  }

  async #loadUntilFresh(): Promise<void> {
    while (this.#isStale && !this.#isClosed) {
      this.#isStale = false;
      await this.#loadOnce();
    }
  }

  async #loadOnce(): Promise<void> {
    try {
      const [session, pins, names, turns] = await Promise.all([
        client.sessions.get(this.id),
        client.sessions.pins(this.id),
        client.sessions.turnNames(this.id),
        this.#newestTurns(),
      ]);
      // The session may have been read after the end of a turn that began after the turns were read.
      const isBehind = (turns.at(-1)?.sequence ?? 0) < session.turnCount;
      const own = isBehind ? await this.#newestTurns() : turns;
      const origin = own.length < pageSize ? await this.#origin(session) : [];
      if (this.#isClosed) return;
      batch(() => {
        this.session.value = session;
        this.pins.value = pins;
        this.takeNames(names);
        this.#add([...origin, ...own]);
        this.failed.value = null;
      });
      this.#follow();
    } catch (error) {
      this.failed.value = { words: wordsOf(error), code: codeOf(error) };
    }
  }

  async #newestTurns(): Promise<ListedTurn[]> {
    const { turns } = await client.sessions.turns(this.id, { limit: pageSize, texts: "whole" });
    return turns.toReversed();
  }

  /** Loads the turns before the oldest one that is shown. */
  async loadEarlier(): Promise<void> {
    const parent = this.path.value[0]?.parentId;
    if (parent != null) this.#add(await turnsUpTo(parent));
  }

  /** Shows the conversation that ends with this turn. */
  async show(turnId: string): Promise<void> {
    if (!this.turns.value.has(turnId)) this.#add(await turnsUpTo(turnId));
    this.tip.value = turnId;
  }

  /** Runs a turn. Throws what the server refuses. */
  async run(request: ExecuteRequest, idempotencyKey: string): Promise<ExecuteAccepted> {
    const started = await client.start(request, { idempotencyKey });
    if (started.sessionId === this.id) {
      this.tip.value = null;
      await this.load();
    }
    void look();
    return started;
  }

  /** Returns the turns that a fork continues, once. If the caller may not see them, the fork begins with its own. */
  async #origin({ originTurnId }: WireSession): Promise<ListedTurn[]> {
    if (originTurnId === null || this.turns.peek().has(originTurnId)) return [];
    return await turnsUpTo(originTurnId).catch((error: unknown) => {
      if (codeOf(error) === "not_found") return [];
      throw error;
    });
  }

  takeNames(names: readonly WireTurnName[]): void {
    this.names.value = new Map(names.map(({ turnId, name }) => [turnId, name]));
  }

  close(): void {
    this.#isClosed = true;
    this.#stopWatching();
    for (const followed of this.followed.value.values()) followed.stop();
  }

  #add(more: readonly ListedTurn[]): void {
    this.turns.value = new Map([...this.turns.value, ...more.map((turn) => [turn.id, turn] as const)]);
  }

  /**
   * Follows the turn that runs. The list may say that a turn has ended before its stream did, for example after the server was
   * away. Such a turn is followed to its last event, or the page would show half of its answer as the whole.
   */
  #follow(): void {
    const pending = [...this.turns.value.values()].findLast(
      (turn) => turn.sessionId === this.id && turn.status === "pending" && turn.kind === "agent",
    );
    if (pending?.id === this.running.value?.turnId) return;
    this.running.value = null;
    if (pending === undefined) return;
    const followed = followTurn(pending.id);
    this.running.value = { turnId: pending.id, followed };
    this.followed.value = new Map([...this.followed.value, [pending.id, followed] as const].slice(-followedMax));
    void followed.ended.then(async () => {
      if (this.#isClosed) return;
      await this.load();
      void look();
    });
  }
}

/** Returns a text that changes whenever the session does. */
export function markOf({ headTurnId, turnCount, lastTurnStatus, updatedAt, activeAt }: WireSession): string {
  return [headTurnId, turnCount, lastTurnStatus, updatedAt, activeAt].join(" ");
}

/** Returns a page of the turns of one session that ends with this turn. */
async function turnsUpTo(turnId: string): Promise<ListedTurn[]> {
  const { sessionId, sequence } = await client.turns.summary(turnId);
  const page = await client.sessions.turns(sessionId, { before: sequence + 1, limit: pageSize, texts: "whole" });
  return page.turns.toReversed();
}

/** The newest turn of the agent below the head, else the head: a failed attempt is shown too. */
function tipOf(session: WireSession | null, turns: ReadonlyMap<string, ListedTurn>): string | null {
  if (session === null) return null;
  const { headTurnId, originTurnId } = session;
  const below = [...turns.values()].findLast(
    (turn) =>
      turn.sessionId === session.id &&
      turn.kind === "agent" &&
      turn.status !== "archived" &&
      turn.parentId === (headTurnId ?? originTurnId) &&
      isAttempt(turn),
  );
  return below?.id ?? headTurnId ?? originTurnId;
}

/** A turn that a person undid, or left by moving the head, is a branch. A running or failed one is what happened last. */
function isAttempt({ status }: ListedTurn): boolean {
  return status === "pending" || status === "failed";
}

/** Returns the turns from the oldest loaded one to this one, oldest first. */
function pathTo(turns: ReadonlyMap<string, ListedTurn>, tip: string | null): ListedTurn[] {
  const path: ListedTurn[] = [];
  let turn = tip === null ? undefined : turns.get(tip);
  while (turn !== undefined) {
    path.push(turn);
    turn = turn.parentId === null ? undefined : turns.get(turn.parentId);
  }
  return path.toReversed();
}

/**
 * Informs callers when their sessions change, and what waits for them (U3, U8). All listeners with the same rights share one look
 * at the records, which follows a hint of any process (access/org-changes.ts), and comes now and then without one.
 *
 * A listener holds at most one piece of news for each session. One that is too slow is asked to read everything again.
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { SessionNews } from "../../domain/session-news.ts";
import { apart } from "../../system/apart.ts";
import { RepeatedFault } from "../../system/repeated-fault.ts";
import { visibleSession } from "../access/visible.ts";
import { rightsOf, scopeOf } from "../access/access.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { waitingCalls } from "../turn/live/waiting.ts";
import {
  differences,
  seenSession,
  openedDifferences,
  seenSessions,
  type SeenSession,
  type SeenSessions,
  type SessionDifference,
} from "./session-differences.ts";

export class SessionWatch {
  readonly #core: EngineCore;
  readonly #scopes = new Map<string, Scope>();
  #timer: NodeJS.Timeout | null = null;
  #beats = 0;

  constructor(core: EngineCore) {
    this.#core = core;
  }

  /**
   * Yields what changes in the sessions that the caller may see, from now on. The first piece says to read everything. Ends when the
   * signal aborts, and when this process stops (R4).
   */
  async *follow(
    caller: Caller,
    { signal, sessionId = null }: { signal: AbortSignal; sessionId?: string | null },
  ): AsyncGenerator<SessionNews> {
    const until = AbortSignal.any([signal, this.#core.closing.signal]);
    const scope = this.#scopeOf(caller);
    const listener = new Listener(this.#core.deps.now, sessionId);
    scope.listeners.add(listener);
    this.#timer ??= apart(() => setInterval(() => this.#beat(), limits.changesPollMs)).unref();
    try {
      // What changes after the first look becomes news, so the listener may read from then on.
      await scope.begun;
      if (sessionId !== null) await scope.open(sessionId);
      while (!until.aborted) {
        yield* listener.take();
        await listener.wait(until);
      }
    } finally {
      scope.listeners.delete(listener);
      if (scope.listeners.size === 0) this.#close(scope);
    }
  }

  #scopeOf(caller: Caller): Scope {
    const key = rightsOf(caller);
    const known = this.#scopes.get(key);
    if (known !== undefined) return known;
    const scope = new Scope(this.#core, caller, () => this.#scopes.delete(key));
    this.#scopes.set(key, scope);
    return scope;
  }

  /** Looks without a hint. If wake-ups arrive, that only finds what no process announces, such as the end of a lease. */
  #beat(): void {
    const isWoken = this.#core.deps.wakeUps?.isConnected() === true;
    this.#beats = isWoken ? (this.#beats + 1) % limits.changesPollsPerWakeUp : 0;
    if (this.#beats === 0) for (const scope of this.#scopes.values()) scope.look();
  }

  #close(scope: Scope): void {
    scope.close();
    if (this.#scopes.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

/** What callers with the same rights see. */
class Scope {
  readonly listeners = new Set<Listener>();
  /** Resolves after the first look, also if it failed. */
  readonly begun: Promise<void>;
  readonly #core: EngineCore;
  readonly #caller: Caller;
  readonly #forget: () => void;
  readonly #sleep: () => void;
  #seen: SeenSessions | null = null;
  /** The sessions that listeners have open, as they were seen last. Null: the caller may not see it. */
  #opened = new Map<string, SeenSession | null>();
  #waiting = "";
  #looking: Promise<void> | null = null;
  #isAgain = false;
  readonly #fault: RepeatedFault;

  constructor(core: EngineCore, caller: Caller, forget: () => void) {
    this.#core = core;
    this.#fault = new RepeatedFault(core.deps.report, "the changes of sessions could not be read for listeners");
    this.#caller = caller;
    this.#forget = forget;
    this.#sleep = core.changes.on(caller.orgId, () => this.look());
    this.begun = apart(() => this.#look());
    this.#looking = this.begun.finally(() => this.#ended());
  }

  /** Looks soon. Never twice at once; a call during a look makes another one follow. */
  look(): void {
    // A process that stops has no more news, also for a listener that does not read.
    if (this.#core.closing.signal.aborted) return;
    this.#isAgain = true;
    if (this.#looking === null) this.#looking = apart(() => this.#lookAgain()).finally(() => this.#ended());
  }

  /** Begins to look at this session, however old it is. What is there before that is not news. Never rejects. */
  async open(id: string): Promise<void> {
    const known = await this.#read(id).catch(() => undefined);
    // A look of the meantime knows it too.
    if (known !== undefined && !this.#opened.has(id)) this.#opened.set(id, known);
  }

  async #read(id: string): Promise<SeenSession | null> {
    try {
      return seenSession(await visibleSession(this.#core.deps, this.#caller, id));
    } catch (error) {
      if (error instanceof AptoveError && error.code === "not_found") return null;
      throw error;
    }
  }

  /** Reads the sessions that listeners have open and that are not among the newest. */
  async #readOpened({ sessions }: SeenSessions): Promise<Map<string, SeenSession | null>> {
    const ids = new Set([...this.listeners].flatMap(({ sessionId }) => sessionId ?? []));
    const opened = new Map<string, SeenSession | null>();
    for (const id of ids) opened.set(id, sessions.find((one) => one.id === id) ?? (await this.#read(id)));
    return opened;
  }

  close(): void {
    this.#sleep();
    this.#forget();
    this.#isAgain = false;
  }

  #ended(): void {
    this.#looking = null;
    if (this.#isAgain && this.listeners.size > 0) this.look();
  }

  async #lookAgain(): Promise<void> {
    const { deps, closing } = this.#core;
    while (this.#isAgain && !closing.signal.aborted) {
      this.#isAgain = false;
      const asked = deps.monotonic();
      await this.#look();
      // The looks of a scope take at most a small share of the time, however often its org changes.
      const tookMs = deps.monotonic() - asked;
      await deps.sleep(Math.max(limits.changesPauseMs, limits.changesPauses * tookMs), closing.signal);
    }
  }

  /** Never rejects. A look that failed is made up for by the next one. */
  async #look(): Promise<void> {
    try {
      const { sessions, next } = await this.#core.deps.records.sessions.list({
        ...scopeOf(this.#caller),
        limit: limits.changesSessionsMax,
      });
      const calls = await waitingCalls(this.#core, this.#caller);
      const seen = seenSessions(sessions, next === null);
      const opened = await this.#readOpened(seen);
      const waiting = calls.map(({ turnId, callId, isParked }) => `${turnId} ${callId} ${isParked}`).join("\n");
      // What changed before the first look is not known.
      if (this.#seen === null) for (const listener of this.listeners) listener.readAnew();
      else {
        const found = { ofAll: differences(this.#seen, seen), ofOpened: openedDifferences(this.#opened, opened) };
        this.#tell(found, waiting === this.#waiting ? null : calls.length);
      }
      [this.#seen, this.#opened, this.#waiting] = [seen, opened, waiting];
      this.#fault.succeeded();
    } catch (error) {
      this.#fault.failed(error);
    }
  }

  #tell({ ofAll, ofOpened }: Record<"ofAll" | "ofOpened", SessionDifference[]>, waiting: number | null): void {
    const at = this.#core.deps.now();
    for (const listener of this.listeners) {
      const own = ofOpened.filter(({ sessionId }) => sessionId === listener.sessionId);
      for (const difference of [...ofAll, ...own]) listener.add({ type: "session_changed", ...difference, at });
      if (waiting !== null) listener.add({ type: "approvals_changed", count: waiting, at });
    }
  }
}

/** The news that one listener has not taken yet: the latest of each session. */
class Listener {
  /** The session that the listener has open, and that is news however old it is. */
  readonly sessionId: string | null;
  readonly #now: () => number;
  readonly #news = new Map<string, SessionNews>();
  #wake: (() => void) | null = null;

  constructor(now: () => number, sessionId: string | null) {
    this.#now = now;
    this.sessionId = sessionId;
    this.readAnew();
  }

  add(news: SessionNews): void {
    const key = news.type === "session_changed" ? news.sessionId : news.type;
    // What replaces it comes last, so that the order of the last changes is kept.
    this.#news.delete(key);
    if (this.#news.size >= limits.changesWaitingMax) this.readAnew();
    else if (!this.#news.has("read_anew")) this.#news.set(key, news);
    this.#wake?.();
  }

  take(): SessionNews[] {
    const taken = [...this.#news.values()];
    this.#news.clear();
    return taken;
  }

  /** Resolves when there is news, or when the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    if (this.#news.size > 0 || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    signal.addEventListener("abort", this.#wake, { once: true });
    await promise;
    signal.removeEventListener("abort", this.#wake);
    this.#wake = null;
  }

  readAnew(): void {
    this.#news.clear();
    this.#news.set("read_anew", { type: "read_anew", at: this.#now() });
    this.#wake?.();
  }
}

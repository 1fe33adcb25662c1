/**
 * Ends streams of callers who may no longer see the session (H4): it was made private, or they were dismissed. What keys and
 * users lose is watched by `people/key-watch.ts`. An owner never loses a session, so the streams of owners cost nothing.
 */
import type { Caller } from "../../domain/caller.ts";
import type { Session } from "../../domain/session.ts";
import { limits } from "../../domain/limits.ts";
import { wakeTopics } from "../../live/wake-ups.ts";
import { apart } from "../../system/apart.ts";
import { RepeatedFault } from "../../system/repeated-fault.ts";
import type { EngineDependencies } from "../dependencies.ts";
import { maySee } from "./visible.ts";

/** Begins to watch a right. Calls `onLost` once, when the right is lost. Returns a function that ends the watch. */
export type WatchedRight = (onLost: () => void) => () => void;

interface Watcher {
  caller: Caller;
  sessionId: string;
  onEnd(): void;
}

export class AccessWatch {
  readonly #deps: EngineDependencies;
  readonly #watchers = new Set<Watcher>();
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  #isAgain = false;
  readonly #fault: RepeatedFault;
  readonly #sleep: (() => void) | undefined;

  constructor(deps: EngineDependencies) {
    this.#deps = deps;
    this.#fault = new RepeatedFault(deps.report, "who may still see the sessions of open streams could not be read");
    this.#sleep = deps.wakeUps?.on(wakeTopics.access, () => void this.look());
  }

  /** Returns how a stream watches that its caller may see the session. */
  of(caller: Caller, sessionId: string): WatchedRight {
    return (onEnd) => {
      const watcher = { caller, sessionId, onEnd };
      this.#watchers.add(watcher);
      this.#timer ??= apart(() =>
        setInterval(() => this.#looking === null && void this.look(), limits.keyPollMs),
      ).unref();
      return () => this.#remove(watcher);
    };
  }

  /** Checks at once, in every process, after this process has changed who may see a session. Never rejects. */
  changed(): Promise<void> {
    this.#deps.wakeUps?.send(wakeTopics.access);
    return this.look();
  }

  /** Checks all watchers. A call during a check makes another one follow. Never rejects. */
  look(): Promise<void> {
    this.#isAgain = this.#looking !== null;
    return (this.#looking ??= apart(() => this.#lookAll()).finally(() => (this.#looking = null)));
  }

  close(): void {
    this.#sleep?.();
    for (const watcher of this.#watchers) this.#remove(watcher);
  }

  async #lookAll(): Promise<void> {
    try {
      do {
        this.#isAgain = false;
        const bySession = Map.groupBy(this.#watchers, ({ sessionId }) => sessionId);
        for (const [id, watchers] of bySession) await this.#lookAt(await this.#deps.records.sessions.get(id), watchers);
      } while (this.#isAgain);
      this.#fault.succeeded();
    } catch (error) {
      this.#fault.failed(error);
    }
  }

  async #lookAt(session: Session | null, watchers: readonly Watcher[]): Promise<void> {
    for (const watcher of watchers) {
      // Whether a removed session may be seen does not matter here: its turn was stopped.
      const isOwner = session?.userId === watcher.caller.userId && session.orgId === watcher.caller.orgId;
      const mayStay = session === null || isOwner || (await maySee(this.#deps, watcher.caller, session));
      if (mayStay && !isOwner) continue;
      this.#remove(watcher);
      if (!mayStay) watcher.onEnd();
    }
  }

  #remove(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

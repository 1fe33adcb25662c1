/**
 * The registry of the turns that this process runs, for interrupting them and for an orderly end (R3, R4). It is only
 * in memory and is never restored: the records are the truth.
 */
import { keepsSessionBusy, LiveTurn, type LiveTurnFacts } from "./live-turn.ts";

export class LiveTurns {
  readonly #byTurn = new Map<string, LiveTurn>();

  begin(facts: LiveTurnFacts): LiveTurn {
    const live = new LiveTurn(facts);
    this.#byTurn.set(live.turnId, live);
    return live;
  }

  /** Removes the turn: this process has nothing more to do for it. */
  end(live: LiveTurn): void {
    this.#byTurn.delete(live.turnId);
    live.leave();
  }

  get(turnId: string): LiveTurn | undefined {
    return this.#byTurn.get(turnId);
  }

  /** Returns the turn that keeps the session busy. */
  ofSession(sessionId: string): LiveTurn | undefined {
    return this.all().find(
      (live) => live.sessionId === sessionId && live.subagent === null && keepsSessionBusy(live.state),
    );
  }

  all(): LiveTurn[] {
    return [...this.#byTurn.values()];
  }

  get count(): number {
    return this.#byTurn.size;
  }

  /**
   * Resolves when this process has nothing more to do for the turn: it is finished and its live log is deleted, or it
   * was refused.
   */
  async untilEnded(live: LiveTurn): Promise<void> {
    await live.until(() => this.#byTurn.get(live.turnId) !== live);
  }

  /** Resolves when every turn that is in the registry now has ended. */
  async untilAllEnded(): Promise<void> {
    await Promise.all(this.all().map((live) => this.untilEnded(live)));
  }
}

/**
 * The registry of the turns that this process runs, for interrupting them and for an orderly end (R3, R4). It is in memory
 * only and rebuilt from nothing: the records are the truth.
 */
import { keepsSessionBusy, LiveTurn, type LiveTurnFacts } from "./live-turn.ts";

export class LiveTurns {
  readonly #byTurn = new Map<string, LiveTurn>();

  begin(facts: LiveTurnFacts): LiveTurn {
    const live = new LiveTurn(facts);
    this.#byTurn.set(live.turnId, live);
    return live;
  }

  /** Takes the turn out: this process has nothing more to do for it. */
  end(live: LiveTurn): void {
    this.#byTurn.delete(live.turnId);
    live.leave();
  }

  get(turnId: string): LiveTurn | undefined {
    return this.#byTurn.get(turnId);
  }

  /** The turn that the session is busy with. */
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

  /** Resolves when this process has nothing more to do for the turn: it is finished and its live log is gone, or it was refused. */
  async untilEnded(live: LiveTurn): Promise<void> {
    await live.until(() => this.#byTurn.get(live.turnId) !== live);
  }

  /** Resolves when each turn that is here now has ended. */
  async untilAllEnded(): Promise<void> {
    await Promise.all(this.all().map((live) => this.untilEnded(live)));
  }
}

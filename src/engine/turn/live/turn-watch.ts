/**
 * Reports one turn to observers: when it started, how much of its time was spent outside the engine, and how it ended.
 */
import { failureOf, type ErrorCode } from "../../../domain/errors.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import { noUsage } from "../../../domain/usage.ts";
import {
  noObserver,
  type Activity,
  type Observer,
  type TurnBegun,
  type TurnEnded,
} from "../../../telemetry/observer.ts";

export class TurnWatch {
  readonly #activity: Activity<TurnEnded>;
  readonly #begunAt = performance.now();
  #othersMs = 0;
  #firstOutputMs: number | null = null;

  constructor(observer: Observer, begun: TurnBegun) {
    this.#activity = observer.turn(begun);
  }

  within<T>(work: () => T): T {
    return this.#activity.within(work);
  }

  /** Runs work whose time does not count as the engine's: a model call, tools, a wait. */
  async ofOthers<T>(work: () => Promise<T>): Promise<T> {
    const begunAt = performance.now();
    try {
      return await work();
    } finally {
      this.#othersMs += performance.now() - begunAt;
    }
  }

  /** Records the time of the first output, by the clock of the process (`performance.now`). */
  sawOutput(at: number): void {
    this.#firstOutputMs ??= at - this.#begunAt;
  }

  finished(turn: FinishedTurn): void {
    this.#activity.end({
      outcome: turn.warnings.some(({ code }) => code === "server_stopped") ? "server_stopped" : turn.status,
      code: turn.status === "failed" ? turn.failures[0].code : null,
      usage: turn.run.usage,
      modelRequests: turn.run.modelRequests,
      overheadMs: performance.now() - this.#begunAt - this.#othersMs,
      firstOutputMs: this.#firstOutputMs,
    });
  }

  refused(error: unknown): void {
    this.#unopened("refused", failureOf(error).code);
  }

  /** Reports that an equal request had already opened a turn (T13). */
  repeats(): void {
    this.#unopened("repeated", null);
  }

  #unopened(outcome: "refused" | "repeated", code: ErrorCode | null): void {
    this.#activity.end({ outcome, code, usage: noUsage, modelRequests: 0, overheadMs: null, firstOutputMs: null });
  }
}

/** Returns a watch without an observer. */
export function unwatched(): TurnWatch {
  const caller = { orgId: "", userId: "" };
  return new TurnWatch(noObserver, { turnId: "", sessionId: "", provider: "", model: "", caller });
}

/** What observers are told of one turn: when it began, what of its time was others', and how it ended. */
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

  /** Work that takes the time of the model, of tools, or of nobody. */
  async ofOthers<T>(work: () => Promise<T>): Promise<T> {
    const begunAt = performance.now();
    try {
      return await work();
    } finally {
      this.#othersMs += performance.now() - begunAt;
    }
  }

  /** Somebody could see a word at this time of the process (`performance.now`). */
  sawOutput(at: number): void {
    this.#firstOutputMs ??= at - this.#begunAt;
  }

  finished(turn: FinishedTurn): void {
    this.#activity.end({
      outcome: turn.status,
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

  /** The same request had opened a turn before (T13). */
  repeats(): void {
    this.#unopened("repeated", null);
  }

  #unopened(outcome: "refused" | "repeated", code: ErrorCode | null): void {
    this.#activity.end({ outcome, code, usage: noUsage, modelRequests: 0, overheadMs: null, firstOutputMs: null });
  }
}

/** Of a turn that nobody watches. */
export function unwatched(): TurnWatch {
  const caller = { orgId: "", userId: "" };
  return new TurnWatch(noObserver, { turnId: "", sessionId: "", provider: "", model: "", caller });
}

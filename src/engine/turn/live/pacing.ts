/**
 * Spreads the beginnings and ends of the turns of this process over rounds of the event loop. Where hundreds come at once, the
 * tokens of running turns pass between them, and memory holds a few half-open turns in place of all.
 */
import { fewARound } from "../../../system/rounds.ts";

/** Turns that begin in one round share a commit. */
const turnsARound = 4;
/** A token waits for all of them, in each of the two rounds in which it is read and sent. */
const turnsARoundBesideStreams = 1;
/** An answer that arrives for longer is a stream. A provider that has the whole answer sends it in less. */
const streamMsMin = 10;

let streams = 0;

const mostOfRound = (): number => (streams > 0 ? turnsARoundBesideStreams : turnsARound);

/** Resolves when a turn may begin. */
export const mayBegin = fewARound(mostOfRound);
/** Resolves when a turn whose run is over may be stored. */
export const mayEnd = fewARound(mostOfRound);

/** One answer of a model, while it arrives. */
export class ArrivingAnswer {
  #begunAt: number | null = null;
  #isStream = false;

  /** A piece has arrived. */
  arrived(): void {
    if (this.#isStream) return;
    const now = performance.now();
    this.#begunAt ??= now;
    if (now - this.#begunAt < streamMsMin) return;
    this.#isStream = true;
    streams += 1;
  }

  /** Nothing more arrives. It is called once. */
  ended(): void {
    if (this.#isStream) streams -= 1;
  }
}

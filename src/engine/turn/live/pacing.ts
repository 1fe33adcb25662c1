/**
 * Spreads the beginnings and ends of the turns of this process over rounds of the event loop. Where hundreds come at once, the
 * tokens of running turns pass between them, and memory holds a few half-open turns in place of all. Beside streams, a beginning and
 * an end have several parts of less than a millisecond each, and one part of one turn runs in a round (docs/decisions/0055).
 */
import { endOfRound, RoundQueue } from "../../../system/rounds.ts";

/** Turns that begin in one round share a commit. */
const turnsARound = 4;
/** A turn that has ended waits no longer for others. */
const roundsAfterEndMax = 8;
/** An answer that arrives for longer is a stream. A provider that has the whole answer sends it in less. */
const streamMsMin = 10;

let streams = 0;

const parts = new RoundQueue(() => (streams > 0 ? 1 : turnsARound));

/** Resolves when a turn may begin, or a turn whose run is over may be stored. */
export const mayStart = (): Promise<void> => parts.start();

/** Resolves when the next part of a beginning or an end may run: at once, except beside streams. */
export async function mayGoOn(): Promise<void> {
  if (streams > 0) await parts.goOn();
}

/** Resolves when no turn waits, after some rounds at the latest: what follows the end of a turn is then done once for several. */
export async function endsPassed(): Promise<void> {
  for (let round = 0; round < roundsAfterEndMax && parts.isCrowded; round += 1) await endOfRound();
}

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

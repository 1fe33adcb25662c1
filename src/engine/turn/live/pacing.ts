/**
 * Spreads the beginnings and ends of the turns of this process over rounds of the event loop. Where hundreds come at once, the
 * tokens of running turns pass between them, and memory holds a few half-open turns in place of all.
 */
import { endOfRound, RoundQueue } from "../../../system/rounds.ts";

/** Turns that begin in one round share a commit. */
const turnsARound = 4;
/** A token waits for all of them, in each of the two rounds in which it is read and sent. */
const turnsARoundBesideStreams = 1;
/** A turn that has ended waits no longer for others. */
const roundsAfterEndMax = 8;
/** An answer that arrives for longer is a stream. A provider that has the whole answer sends it in less. */
const streamMsMin = 10;

let streams = 0;

const mostOfRound = (): number => (streams > 0 ? turnsARoundBesideStreams : turnsARound);

const beginnings = new RoundQueue(mostOfRound);
const ends = new RoundQueue(mostOfRound);

/** Resolves when a turn may begin. */
export const mayBegin = (): Promise<void> => beginnings.enter();

/** Resolves when a turn whose run is over may be stored. */
export const mayEnd = (): Promise<void> => ends.enter();

/** Resolves when no turn waits for its end, after some rounds at the latest: what follows an end is then done once for several. */
export async function endsPassed(): Promise<void> {
  for (let round = 0; round < roundsAfterEndMax && ends.isCrowded; round += 1) await endOfRound();
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

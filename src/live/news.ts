/**
 * What this process has heard of turns that run elsewhere: how far each of them is. A listener that waits behind
 * an event is woken only by a later one, and one that begins to wait after the news came is not left waiting.
 */
import { limits } from "../domain/limits.ts";
import { Waiters } from "./waiters.ts";

/** Turns whose last news is remembered; of one that is forgotten a listener learns when it looks by itself. */
const turnsMax = 4_096;
/** Said of a turn whose log was dropped. */
const dropped = -1;

export interface TurnNews {
  turnId: string;
  /** Null: its log was dropped. */
  seq: number | null;
}

/** What servers tell each other: `<turn id>:<number of its last event>`, with commas between; without a number: dropped. */
export function readNews(message: string): TurnNews[] {
  return message.split(",").map((news) => {
    const [turnId = "", seq = ""] = news.split(":");
    return { turnId, seq: seq === "" ? null : Number(seq) };
  });
}

export class News {
  readonly #heard = new Map<string, number>();
  readonly #waiters = new Waiters();
  #missed = 0;

  /** There is an event `seq` of the turn. */
  tell(turnId: string, seq: number): void {
    const known = this.#heard.get(turnId) ?? 0;
    this.#hear(turnId, known === dropped ? seq : Math.max(known, seq));
  }

  tellAll(news: readonly TurnNews[]): void {
    for (const { turnId, seq } of news) {
      if (seq === null) this.tellDropped(turnId);
      else this.tell(turnId, seq);
    }
  }

  tellDropped(turnId: string): void {
    this.#hear(turnId, dropped);
  }

  #hear(turnId: string, news: number): void {
    this.#heard.delete(turnId);
    this.#heard.set(turnId, news);
    const [oldest] = this.#heard.keys();
    if (this.#heard.size > turnsMax && oldest !== undefined) this.#heard.delete(oldest);
    this.#waiters.wake(turnId);
  }

  /** Whoever waits looks now: something may not have been heard. */
  tellMissed(): void {
    this.#missed += 1;
    this.#waiters.wakeAll();
  }

  /** Until there may be an event after `afterSeq`, for at most `ms`. */
  async wait(turnId: string, afterSeq: number, { signal, ms }: { signal: AbortSignal; ms: number }): Promise<void> {
    const heard = (): number => this.#heard.get(turnId) ?? 0;
    const missed = this.#missed;
    if (heard() === dropped) {
      // Perhaps since the listener looked.
      return await this.#waiters.wait(turnId, signal, Math.min(ms, limits.livePollMs));
    }
    const end = performance.now() + ms;
    for (let left = ms; left > 0; left = end - performance.now()) {
      if (signal.aborted || this.#missed !== missed || heard() > afterSeq || heard() === dropped) return;
      await this.#waiters.wait(turnId, signal, left);
    }
  }
}

/**
 * How fast a server may speak (P5). One that never stops costs a bounded share of this process: what is over waits
 * unread where it is, in its pipe or its connection, and so does the server.
 */
import { limits } from "../../domain/limits.ts";

const beatMs = 100;
/** A message of the greatest length passes without waiting. */
const beatsAtOnce = limits.mcpMessageBytesMax / limits.mcpBytesPerBeatMax;

export class Pace {
  /** In beats; it runs off with time. */
  #owed = 0;
  #at = performance.now();

  /** Counts what was read, and gives how long to wait before more is read, in milliseconds; 0: go on. */
  spend(bytes: number, messages: number): number {
    const now = performance.now();
    const cost = bytes / limits.mcpBytesPerBeatMax + messages / limits.mcpMessagesPerBeatMax;
    this.#owed = Math.max(0, this.#owed - (now - this.#at) / beatMs) + cost;
    this.#at = now;
    return Math.max(0, this.#owed - beatsAtOnce) * beatMs;
  }
}

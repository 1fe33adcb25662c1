/**
 * Limits the rate at which a server's output is read (P5). A server that writes without end uses a limited share of this
 * process. Output over the limit stays unread in its pipe or connection, which makes the server wait too.
 */
import { limits } from "../../domain/limits.ts";

const beatMs = 100;
/** The number of beats that may be used at once, so that a message of maximum length passes without waiting. */
const beatsAtOnce = limits.mcpMessageBytesMax / limits.mcpBytesPerBeatMax;

export class ReadThrottle {
  /** The debt in beats. It decreases with time. */
  #owed = 0;
  #at = performance.now();

  /** Counts the data that was read. Returns the time in milliseconds to wait before more is read; 0 means no wait. */
  spend(bytes: number, messages: number): number {
    const now = performance.now();
    const cost = bytes / limits.mcpBytesPerBeatMax + messages / limits.mcpMessagesPerBeatMax;
    this.#owed = Math.max(0, this.#owed - (now - this.#at) / beatMs) + cost;
    this.#at = now;
    return Math.max(0, this.#owed - beatsAtOnce) * beatMs;
  }
}

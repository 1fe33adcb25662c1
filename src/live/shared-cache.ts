/**
 * The contract for a cache that the processes of one deployment share. What it holds can always be computed again, so losing it
 * costs time and nothing else (Q7).
 *
 * A driver must do the following.
 * - `get` returns the text that was last set for the key, or null. A cache that fails or is unreachable returns null, and is
 *   never waited for longer than one answer of it may take.
 * - `set` returns at once and never throws. What cannot be kept is not kept. A process reads what it has set itself at once,
 *   other processes read it soon.
 * - The memory that it takes is bounded: the oldest values go first.
 * - A caller never sets two different texts for one key: the key names everything that the text follows from. So no value is
 *   ever stale, and none needs to be removed.
 * - It is closed together with the live log of the same driver.
 */
export interface SharedCache {
  /** `key` has up to 100 of `a-z`, `0-9`, `-` and `:`. */
  get(key: string): Promise<string | null>;
  set(key: string, text: string): void;
}

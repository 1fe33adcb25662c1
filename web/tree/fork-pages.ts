/** The forks of turns, of which an answer of the server has only the newest: read further, a page each time. */
import type { WireSession } from "../../src/client/client.ts";
import { client } from "../api/connection.ts";

export const forksPage = 50;

export class ForkPages {
  /** The cursor of the next page of each turn. Null: there are no more. */
  readonly #cursors = new Map<string, string | null>();
  readonly #read = new Map<string, WireSession[]>();

  /** Returns true if pages of this turn were read. */
  has(turnId: string): boolean {
    return this.#cursors.has(turnId);
  }

  /** Reads one page more, and returns all that were read. `isAll` says that there are no others. */
  async more(turnId: string): Promise<{ sessions: readonly WireSession[]; isAll: boolean }> {
    const cursor = this.#cursors.get(turnId) ?? null;
    const from = cursor === null ? {} : { cursor };
    const { sessions, nextCursor } = await client.sessions.list({ forkOf: turnId, limit: forksPage, ...from });
    const all = [...(cursor === null ? [] : (this.#read.get(turnId) ?? [])), ...sessions];
    this.#read.set(turnId, all);
    this.#cursors.set(turnId, nextCursor);
    return { sessions: all, isAll: nextCursor === null };
  }
}

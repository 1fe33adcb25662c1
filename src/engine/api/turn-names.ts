/** Names of turns, by which people find them again (U5). */
import type { Caller } from "../../domain/caller.ts";
import type { TurnName } from "../../domain/turn-name.ts";

/** Those who may run turns in a session name its turns. Everyone who may see the session may see the names. */
export interface TurnNames {
  /** Returns the names that turns have in a session, the first turn first. Throws `not_found`. */
  list(caller: Caller, sessionId: string): Promise<TurnName[]>;
  /**
   * Names a turn of the session, or one above it that it was forked from, and returns all names. Null takes the name away. Throws
   * `not_found`, `forbidden`, and `request_invalid` if the name is empty or too long, or if the session has no room for another one.
   */
  set(caller: Caller, sessionId: string, named: { turnId: string; name: string | null }): Promise<TurnName[]>;
}

/** The parts of queries that differ between engines. */
import type { Expression, RawBuilder } from "kysely";
import type { TurnEnds } from "./ends/turn-ends.ts";
import type { PlainSql, Placeholders } from "./plain/plain-sql.ts";

export interface SqlDialect extends Placeholders {
  /** The store of the ends of turns. */
  ends: TurnEnds;
  /**
   * Returns the end of a select that locks its rows until the transaction ends: `update` against every other writer,
   * `key share` only against their deletion. `skip locked` leaves out rows that other transactions have locked.
   */
  lockRows(strength: "update" | "update skip locked" | "key share"): RawBuilder<unknown>;
  /** Returns the time by a clock that all users of the data share, in epoch milliseconds (R1). */
  now(): RawBuilder<number>;
  /** The same two for statements that are plain texts. */
  lockedRows(strength: "update"): PlainSql;
  plainNow(): PlainSql;
  /** Returns a statement that makes other transactions with the same name wait until this one ends. Null if there can be no others. */
  exclusiveLock(name: string): PlainSql | null;
  /**
   * Returns a statement that takes new room on the disk of the database, and gives it back. It fails if there is none. Null: the database
   * shares its disk with stores that are asked for room themselves.
   */
  takeRoom(): RawBuilder<unknown> | null;
  /** Returns whether a text contains a word, both folded. `folded` is null if lowering A to Z in `text` gives the same. */
  containsWord(
    text: { text: Expression<string>; folded: Expression<string | null> },
    word: string,
  ): RawBuilder<boolean>;
}

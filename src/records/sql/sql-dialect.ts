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
  /** The same for statements that are plain texts. */
  plainNow(): PlainSql;
  /** Returns the statement that locks the rows of a select against every other writer. Nothing if there can be no other. */
  lock(select: PlainSql): PlainSql[];
  /** Returns the statement that makes other transactions with the same name wait until this one ends. Nothing if there can be no others. */
  exclusiveLock(name: string): PlainSql[];
  /** Returns a statement that lets its transaction change something only if the condition is met (plain/conditions.ts). */
  check(condition: PlainSql): PlainSql;
  /**
   * The version of a row as a text: every change of the row makes another one. Null: a read costs so little that nothing is
   * remembered in its place.
   */
  readonly rowVersion: PlainSql | null;
  /** Returns the statement, which writes a row of the table, so that its transaction changes something only if it writes that row. */
  writesRow(statement: PlainSql, row: { table: "sessions"; id: string }): PlainSql[];
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

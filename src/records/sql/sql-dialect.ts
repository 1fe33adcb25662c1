/** The parts of queries that differ between engines. */
import type { Expression, RawBuilder } from "kysely";

export interface SqlDialect {
  /**
   * The end of a select that keeps its rows as they are until the transaction ends: `update` against every other
   * writer, `key share` against their removal only. `skip locked` leaves out rows that others hold.
   */
  hold(strength: "update" | "update skip locked" | "key share"): RawBuilder<unknown>;
  /** The time by the clock that all who share the data have in common, in epoch milliseconds (R1). */
  now(): RawBuilder<number>;
  /** A statement that makes other transactions with the same name wait until this one ends. Null: there are no others. */
  alone(name: string): RawBuilder<unknown> | null;
  /** Whether a text has a word, both folded. `folded` is null where lowering A to Z in `text` gives the same. */
  has(place: { text: Expression<string>; folded: Expression<string | null> }, word: string): RawBuilder<boolean>;
}

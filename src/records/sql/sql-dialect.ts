/** What queries have to say differently to each engine. */
import type { Expression, RawBuilder } from "kysely";

export interface SqlDialect {
  /**
   * The end of a select that keeps its rows as they are until the transaction ends: `update` against every other
   * writer, `key share` against their removal only. `skip locked` leaves out rows that others hold.
   */
  hold(strength: "update" | "update skip locked" | "key share"): RawBuilder<unknown>;
  /** The time by the clock that all who share the data have in common, in epoch milliseconds (R1). */
  now(): RawBuilder<number>;
  /** A statement after which whoever asks for the same name waits until this transaction ends; null: there is no other. */
  alone(name: string): RawBuilder<unknown> | null;
  /** Whether a text has a word, both folded. `folded` is null where lowering A to Z in `text` gives the same. */
  has(place: { text: Expression<string>; folded: Expression<string | null> }, word: string): RawBuilder<boolean>;
}

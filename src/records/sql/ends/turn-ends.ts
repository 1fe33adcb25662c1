/** The end of a turn in SQL: its row, its steps and its texts. They are written once and never change. */
import type { Kysely, RawBuilder, Transaction } from "kysely";
import type { Step } from "../../../domain/step.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import type { ImportedTurn } from "../../imports.ts";
import type { TurnText } from "../../search.ts";
import type { Placeholders } from "../plain/plain-sql.ts";
import type { Tables, TurnRow } from "../tables.ts";

export interface TurnEnd {
  turn: FinishedTurn;
  /** The steps that are not stored yet. */
  steps: Step[];
  /** Null: search does not find the turn. */
  text: TurnText | null;
}

export interface TurnEnds {
  /** Returns the document of a row. */
  docOf(row: TurnRow): string;
  /** Prepares what `write` writes, before the transaction begins. */
  prepare(end: TurnEnd): Promise<PreparedEnd>;
  /** Inserts imported turns, parents first. */
  insert(tx: Transaction<Tables>, turns: readonly ImportedTurn[]): Promise<void>;
  /** Deletes turns with their steps and texts. */
  delete(tx: Transaction<Tables>, sessionId: string, turns: readonly DeletedTurn[]): Promise<void>;
  /** The bytes of what is sealed of the turn `t`, as an expression. */
  readonly sealedRoom: RawBuilder<number>;
  /** Returns the steps in their order. */
  listSteps(db: Kysely<Tables>, dialect: Placeholders, turnId: string): Promise<Step[]>;
}

export interface PreparedEnd {
  /** Replaces the pending row. */
  write(tx: Transaction<Tables>): Promise<void>;
  /** Called when the transaction is committed. */
  written?(): void;
}

export interface DeletedTurn {
  id: string;
  sequence: number;
}

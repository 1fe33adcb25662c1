/**
 * Migrations, numbered from 1 without gaps (B2). One that was released is never edited: the next change is a new entry at
 * the end, and the data folder of the release before it (testing/fixtures/data-*) proves it.
 */
import type { Transaction } from "kysely";
import type { Tables } from "../tables.ts";
import { peopleTables, runTables, sessionTables, turnTables } from "./version-1.ts";

export interface Migration {
  /** Returns the statements that change the tables. `id` is the type of the columns that hold ids. */
  statements(types: { id: string }): string[];
  /** Changes the rows that exist where SQL alone cannot do it. It runs after the statements. */
  rewrite?(tx: Transaction<Tables>): Promise<void>;
  /**
   * True if a program of the version before can continue to use the data, and can start on it: nothing that it reads or
   * writes is changed or gone, and what it does not write has a value. Servers are then replaced one by one.
   */
  isAdditive?: true;
}

export const migrations: readonly Migration[] = [
  { statements: ({ id }) => [...sessionTables(id), ...turnTables(id), ...runTables(id), ...peopleTables(id)] },
  {
    statements: () => [
      ...["label", "role_max"].map((name) => `alter table pairing_codes add column ${name} text`),
      `alter table sessions add column is_draft integer not null default 0`,
      `alter table sessions add column folded_details text not null default ''`,
    ],
    isAdditive: true,
  },
];

/** The version that this program reads and writes. */
export const dataVersion = migrations.length;

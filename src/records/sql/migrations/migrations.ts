/**
 * Migrations, numbered from 1 without gaps (B2). One that was released is never edited: the next change is a new entry at
 * the end, and the data folder of the release before it (testing/fixtures/data-*) proves it.
 */
import type { Transaction } from "kysely";
import type { Tables } from "../tables.ts";
import { peopleTables, runTables, sessionTables, turnTables } from "./version-1.ts";
import { summaryTables } from "./summaries.ts";
import { contentsTables } from "./version-3.ts";
import { makeOneTree } from "./version-7.ts";

interface MigratedEngine {
  /** The type of the columns that hold ids. */
  id: string;
  /** True if the engine keeps the ends of turns in the table of contents, as SQLite does. */
  hasContents: boolean;
  /** True if there was nothing before, so the tables are made as the last version has them (version-7.ts). */
  isNew: boolean;
}

export interface Migration {
  /** Returns the statements that change the tables. */
  statements(engine: MigratedEngine): string[];
  /** Changes what exists where statements that are known beforehand cannot do it. It runs after the statements. */
  rewrite?(tx: Transaction<Tables>, engine: MigratedEngine): Promise<void>;
  /**
   * True if a program of the version before can continue to use the data, and can start on it: nothing that it reads or
   * writes is changed or gone, and what it does not write has a value. Servers are then replaced one by one. `"without contents"`:
   * true only for engines without the table of contents.
   */
  isAdditive?: true | "without contents";
}

export const migrations: readonly Migration[] = [
  { statements: ({ id }) => [...sessionTables(id), ...turnTables(id), ...runTables(id), ...peopleTables(id)] },
  {
    statements: ({ id }) => [
      ...["label", "role_max"].map((name) => `alter table pairing_codes add column ${name} text`),
      `alter table sessions add column is_draft integer not null default 0`,
      `alter table sessions add column folded_details text not null default ''`,
      `alter table turns add column history_key text`,
      `alter table turns add column hidden_at bigint`,
      `create table unkept_turns (
        id ${id} not null primary key,
        org_id ${id} not null,
        user_id ${id} not null,
        runner_id ${id} not null,
        started_at bigint not null,
        ended_at bigint,
        request_hash text not null,
        doc text not null
      )`,
      `create index unkept_turns_by_user on unkept_turns (user_id, id)`,
      `create index unkept_turns_running on unkept_turns (runner_id) where ended_at is null`,
      `create index turns_by_history on turns (history_key) where history_key is not null`,
    ],
    isAdditive: true,
  },
  { statements: ({ hasContents }) => (hasContents ? contentsTables : []), isAdditive: "without contents" },
  {
    statements: ({ id }) => [
      `create table client_questions (
        turn_id ${id} not null,
        call_id text not null,
        asker_id ${id} not null,
        expires_at bigint not null,
        view text not null,
        answer text,
        primary key (turn_id, call_id)
      )`,
      `create index client_questions_by_end on client_questions (expires_at)`,
    ],
    isAdditive: true,
  },
  {
    statements: ({ id }) => [
      `create table budgets (
        id ${id} not null primary key,
        org_id ${id} not null,
        scope text not null,
        target_id ${id} not null,
        period text not null,
        unit text not null,
        limit_amount bigint not null,
        created_at bigint not null,
        created_by ${id} not null,
        doc text not null
      )`,
      `create unique index budgets_by_target on budgets (target_id, period, unit)`,
      `create index budgets_by_org on budgets (org_id, created_at)`,
      `create table budget_counts (
        budget_id ${id} not null,
        day bigint not null,
        spent bigint not null,
        primary key (budget_id, day)
      )`,
      `create table budget_holds (
        turn_id ${id} not null,
        step integer not null,
        budget_id ${id} not null,
        day bigint not null,
        amount bigint not null,
        runner_id ${id} not null,
        primary key (turn_id, step, budget_id)
      )`,
      `create index budget_holds_by_budget on budget_holds (budget_id, day)`,
    ],
    isAdditive: true,
  },
  { statements: ({ id }) => summaryTables(id), isAdditive: true },
  // Version 7 also packs contents in another form, and reads the form before.
  {
    statements: () => [],
    rewrite: async (tx, { hasContents, isNew }) => (hasContents && !isNew ? await makeOneTree(tx) : undefined),
    isAdditive: "without contents",
  },
];

/** The version that this program reads and writes. */
export const dataVersion = migrations.length;

/**
 * Version 7 of the records in SQLite: tables with a key of text or of several columns are one tree that is ordered by this key. Before,
 * they were two trees, rows by number and numbers by key, so each write changed both, and each key stood twice (K6). These are the
 * tables with short rows to which no other table refers.
 */
import { sql, type Kysely } from "kysely";
import type { Tables } from "../tables.ts";

export const oneTreeVersion = 7;

const oneTree: readonly (keyof Tables)[] = [
  "participants",
  "idempotency",
  "steps",
  "head_moves",
  "mailbox",
  "runners",
  "controls",
  "store_facts",
  "orgs",
  "devices",
  "pairing_codes",
  "rates",
  "contexts",
  "audit",
  "unkept_turns",
  "blobs",
  "client_questions",
  "budgets",
  "budget_counts",
  "budget_holds",
];

/** Returns a statement of an earlier version as a new file needs it: its tables are made as one tree, and nothing is moved. */
export function inNewFile(statement: string): string {
  const [, name = ""] = /^create table (\w+)/.exec(statement) ?? [];
  return oneTree.some((table) => table === name) ? `${statement} without rowid` : statement;
}

export async function makeOneTree(tx: Kysely<Tables>): Promise<void> {
  for (const name of oneTree) {
    const made = sql<{ type: string; sql: string }>`
      select type, sql from sqlite_master where tbl_name = ${name} and sql is not null order by type = 'index'`;
    const [table, ...indexes] = (await made.execute(tx)).rows;
    if (table === undefined) continue;
    const create = table.sql.replace(/^create table "?\w+"?/i, `create table ${name}_7`);
    const statements = [
      `${create} without rowid`,
      `insert into ${name}_7 select * from ${name}`,
      `drop table ${name}`,
      `alter table ${name}_7 rename to ${name}`,
      ...indexes.map((index) => index.sql),
    ];
    for (const statement of statements) await sql.raw(statement).execute(tx);
  }
  await sql`pragma incremental_vacuum`.execute(tx);
}

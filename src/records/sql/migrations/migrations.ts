/**
 * Migrations, numbered from 1 without gaps (B2). One that was released is never edited: the next change is a
 * new entry at the end, with a dump of the version before it in testing/fixtures/ to prove it on.
 */
import type { Transaction } from "kysely";
import { foldedText, storableText } from "../../search-text.ts";
import { knownOrgs, peopleTables } from "./people-migration.ts";
import type { Tables } from "../tables.ts";
import { textToRow } from "../rows/text-row.ts";

export interface Migration {
  /** `id`: type of the columns that hold ids. */
  statements(types: { id: string }): string[];
  /** What SQL alone cannot do with the rows that are there. */
  rewrite?(tx: Transaction<Tables>): Promise<void>;
  /**
   * A program of the version before can go on with the data, and begin on it: nothing that it reads or writes is changed
   * or gone, and what it does not write has a value. Servers are then replaced one by one. From version 5 on.
   */
  isAdditive?: true;
}

export const migrations: readonly Migration[] = [
  {
    statements: ({ id }) => [
      `create table sessions (
        id ${id} not null primary key,
        org_id ${id} not null,
        user_id ${id} not null,
        is_public integer not null,
        workspace_id text,
        repo text,
        head_turn_id ${id},
        last_sequence integer not null,
        last_turn_status text,
        last_turn_at bigint,
        tokens_total bigint not null,
        created_at bigint not null,
        updated_at bigint not null,
        active_at bigint not null,
        archived_at bigint,
        deleted_at bigint,
        doc text not null
      )`,
      `create index sessions_by_activity on sessions (org_id, active_at, id) where deleted_at is null`,
      `create table participants (
        session_id ${id} not null references sessions (id),
        user_id ${id} not null,
        primary key (session_id, user_id)
      )`,
      `create table turns (
        id ${id} not null primary key,
        session_id ${id} not null references sessions (id),
        parent_id ${id},
        sequence integer not null,
        depth integer not null,
        kind text not null,
        status text not null,
        created_by ${id} not null,
        created_at bigint not null,
        runner_id ${id},
        lease_expires_at bigint,
        doc text not null
      )`,
      `create unique index turns_by_sequence on turns (session_id, sequence)`,
      `create unique index turns_one_pending on turns (session_id) where status = 'pending' and kind = 'agent'`,
      `create index turns_pending on turns (runner_id) where status = 'pending'`,
      `create table idempotency (
        user_id ${id} not null,
        key text not null,
        request_hash text not null,
        turn_id ${id} not null references turns (id),
        primary key (user_id, key)
      )`,
      `create table steps (
        turn_id ${id} not null references turns (id),
        step integer not null,
        doc text not null,
        primary key (turn_id, step)
      )`,
      `create table runners (id ${id} not null primary key, started_at bigint not null, doc text not null)`,
      `create table users (
        id ${id} not null primary key,
        org_id ${id} not null,
        created_at bigint not null,
        doc text not null
      )`,
      `create index users_by_org on users (org_id)`,
      `create table api_keys (
        id ${id} not null primary key,
        org_id ${id} not null,
        user_id ${id} not null references users (id),
        hash text not null,
        created_at bigint not null,
        last_used_at bigint,
        revoked_at bigint,
        doc text not null
      )`,
      `create unique index api_keys_by_hash on api_keys (hash)`,
      `create index api_keys_by_org on api_keys (org_id)`,
    ],
  },
  {
    statements: ({ id }) => [
      `alter table sessions add column origin_turn_id ${id}`,
      `alter table sessions add column folded_name text not null default ''`,
      `create index sessions_by_origin on sessions (origin_turn_id) where origin_turn_id is not null`,
      `create index sessions_deleted on sessions (org_id, user_id, deleted_at, id) where deleted_at is not null`,
      `create index turns_by_parent on turns (parent_id) where parent_id is not null`,
      `create index idempotency_by_turn on idempotency (turn_id)`,
      `create table texts (
        session_id ${id} not null,
        sequence integer not null,
        instruction text not null,
        answer text not null,
        folded_instruction text,
        folded_answer text,
        primary key (session_id, sequence),
        foreign key (session_id, sequence) references turns (session_id, sequence)
      )`,
      `create table head_moves (
        session_id ${id} not null references sessions (id),
        move integer not null,
        from_turn_id ${id},
        to_turn_id ${id} not null,
        user_id ${id} not null,
        moved_at bigint not null,
        primary key (session_id, move)
      )`,
      `create table controls (
        id ${id} not null primary key,
        turn_id ${id} not null,
        sent_at bigint not null,
        doc text not null
      )`,
    ],
    rewrite: findableRows,
  },
  {
    statements: () => [`alter table sessions add column cost_usd double precision not null default 0`],
    rewrite: summedCosts,
  },
  {
    statements: ({ id }) => [
      `alter table api_keys add column device_id ${id}`,
      `create index api_keys_by_device on api_keys (device_id) where device_id is not null`,
      `create table devices (
        id ${id} not null primary key,
        org_id ${id} not null,
        user_id ${id} not null,
        first_used_at bigint not null
      )`,
      `create table pairing_codes (
        id ${id} not null primary key,
        org_id ${id} not null,
        user_id ${id} not null references users (id),
        hash text not null,
        created_at bigint not null,
        expires_at bigint not null,
        tries_left integer not null,
        claimed_at bigint,
        key_id ${id} references api_keys (id),
        workspace_id text
      )`,
    ],
  },
  // For a team.
  {
    statements: ({ id }) => [
      `alter table turns add column subagent_id ${id}`,
      `create index turns_by_subagent on turns (session_id, subagent_id, sequence) where subagent_id is not null`,
      `create table mailbox (
        turn_id ${id} not null primary key references turns (id),
        session_id ${id} not null references sessions (id),
        number integer not null,
        kind text not null,
        subagent_id ${id} not null,
        created_at bigint not null,
        taken_by ${id} references turns (id),
        delivered_at bigint,
        doc text not null
      )`,
      `create unique index mailbox_by_number on mailbox (session_id, number)`,
      `create index mailbox_by_taker on mailbox (taken_by) where taken_by is not null`,
      `create table contexts (
        org_id ${id} not null,
        kind text not null,
        id ${id} not null,
        version integer not null,
        primary key (org_id, kind, id)
      )`,
      `create table context_versions (
        org_id ${id} not null,
        kind text not null,
        id ${id} not null,
        version integer not null,
        created_at bigint not null,
        created_by ${id} not null,
        is_retired integer not null,
        doc text not null,
        primary key (org_id, kind, id, version)
      )`,
      `create index turns_running on turns (created_by) where status = 'pending'`,
      `create table rates (
        scope text not null primary key,
        slot bigint not null,
        used bigint not null,
        previous bigint not null
      )`,
      `create table store_facts (name text not null primary key, value text not null)`,
      ...peopleTables(id),
    ],
    rewrite: knownOrgs,
  },
];

/** Version 2: sessions are found by name and origin, and turns by what version 1 has of their texts, the summaries. */
async function findableRows(tx: Transaction<Tables>): Promise<void> {
  for (const { id, doc } of await tx.selectFrom("sessions").select(["id", "doc"]).execute()) {
    const { originTurnId = null, ...rest } = JSON.parse(doc) as { name: string; originTurnId?: string };
    const folded_name = foldedText(storableText(rest.name));
    const row = { doc: JSON.stringify(rest), origin_turn_id: originTurnId, folded_name };
    await tx.updateTable("sessions").set(row).where("id", "=", id).execute();
  }
  const turns = tx.selectFrom("turns").select(["session_id", "sequence", "doc"]).where("status", "<>", "pending");
  for (const { session_id, sequence, doc } of await turns.execute()) {
    const said = JSON.parse(doc) as { instructionSummary: string; answerSummary?: string; was?: typeof said };
    const answer = said.answerSummary ?? said.was?.answerSummary ?? "";
    const row = textToRow({ instruction: said.instructionSummary, answer });
    await tx
      .insertInto("texts")
      .values({ session_id, sequence, ...row })
      .execute();
  }
}

/** Version 3: sessions say what their turns cost; version 2 has it of each turn. */
async function summedCosts(tx: Transaction<Tables>): Promise<void> {
  // Most turns that old have no price, and there may be very many: only those that have one are read.
  const turns = tx.selectFrom("turns").select(["session_id", "doc"]).where("doc", "like", '%"costUsd"%');
  for (const { session_id, doc } of await turns.execute()) {
    const { run } = JSON.parse(doc) as { run?: { usage: { costUsd?: number } } };
    await tx
      .updateTable("sessions")
      .set((eb) => ({ cost_usd: eb("cost_usd", "+", run?.usage.costUsd ?? 0) }))
      .where("id", "=", session_id)
      .execute();
  }
}

/** The version that this program reads and writes. */
export const dataVersion = migrations.length;

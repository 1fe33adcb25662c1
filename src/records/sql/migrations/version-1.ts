/** Version 1 of the records, the first that was released (docs/formats/records.md). It is never edited. */

/** Returns the tables of sessions and of who took part in them. `id` is the type of the columns that hold ids. */
export function sessionTables(id: string): string[] {
  return [
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
      doc text not null,
      origin_turn_id ${id},
      folded_name text not null default '',
      cost_usd double precision not null default 0
    )`,
    `create index sessions_by_activity on sessions (org_id, active_at, id) where deleted_at is null`,
    `create index sessions_by_origin on sessions (origin_turn_id) where origin_turn_id is not null`,
    `create index sessions_deleted on sessions (org_id, user_id, deleted_at, id) where deleted_at is not null`,
    `create table participants (
      session_id ${id} not null references sessions (id),
      user_id ${id} not null,
      primary key (session_id, user_id)
    )`,
  ];
}

/** Returns the tables of turns and of what belongs to one. */
export function turnTables(id: string): string[] {
  return [
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
      doc text not null,
      subagent_id ${id}
    )`,
    `create unique index turns_by_sequence on turns (session_id, sequence)`,
    `create unique index turns_one_pending on turns (session_id) where status = 'pending' and kind = 'agent'`,
    `create index turns_pending on turns (runner_id) where status = 'pending'`,
    `create index turns_by_parent on turns (parent_id) where parent_id is not null`,
    `create index turns_by_subagent on turns (session_id, subagent_id, sequence) where subagent_id is not null`,
    `create index turns_running on turns (created_by) where status = 'pending'`,
    `create table idempotency (
      user_id ${id} not null,
      key text not null,
      request_hash text not null,
      turn_id ${id} not null references turns (id),
      primary key (user_id, key)
    )`,
    `create index idempotency_by_turn on idempotency (turn_id)`,
    `create table steps (
      turn_id ${id} not null references turns (id),
      step integer not null,
      doc text not null,
      primary key (turn_id, step)
    )`,
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
  ];
}

/** Returns the tables of what sessions are steered by, and of the processes that run their turns. */
export function runTables(id: string): string[] {
  return [
    `create table head_moves (
      session_id ${id} not null references sessions (id),
      move integer not null,
      from_turn_id ${id},
      to_turn_id ${id} not null,
      user_id ${id} not null,
      moved_at bigint not null,
      primary key (session_id, move)
    )`,
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
    `create table runners (id ${id} not null primary key, started_at bigint not null, doc text not null)`,
    `create table controls (
      id ${id} not null primary key,
      turn_id ${id} not null,
      sent_at bigint not null,
      doc text not null
    )`,
    `create table store_facts (name text not null primary key, value text not null)`,
  ];
}

/** Returns the tables of orgs, of people with what they did, and of what an org keeps beside its sessions. */
export function peopleTables(id: string): string[] {
  return [
    `create table orgs (id ${id} not null primary key, created_at bigint not null, suspended_at bigint, doc text not null)`,
    `create table users (
      id ${id} not null primary key,
      org_id ${id} not null,
      created_at bigint not null,
      doc text not null,
      role text not null default 'member',
      email text,
      external_id text,
      disabled_at bigint
    )`,
    `create index users_by_org on users (org_id)`,
    `create unique index users_by_email on users (org_id, email) where email is not null`,
    `create unique index users_by_external_id on users (org_id, external_id) where external_id is not null`,
    `create table api_keys (
      id ${id} not null primary key,
      org_id ${id} not null,
      user_id ${id} not null references users (id),
      hash text not null,
      created_at bigint not null,
      last_used_at bigint,
      revoked_at bigint,
      doc text not null,
      device_id ${id}
    )`,
    `create unique index api_keys_by_hash on api_keys (hash)`,
    `create index api_keys_by_org on api_keys (org_id)`,
    `create index api_keys_by_device on api_keys (device_id) where device_id is not null`,
    `create index api_keys_by_user on api_keys (user_id)`,
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
    `create table rates (
      scope text not null primary key,
      slot bigint not null,
      used bigint not null,
      previous bigint not null
    )`,
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
    `create table audit (
      id ${id} not null primary key,
      org_id ${id} not null,
      at bigint not null,
      user_id ${id},
      action text not null,
      target_id text,
      doc text not null
    )`,
    `create index audit_by_org on audit (org_id, at, id)`,
    `create index audit_by_age on audit (at, id)`,
  ];
}

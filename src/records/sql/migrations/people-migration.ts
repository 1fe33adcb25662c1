/** Version 5 of the records, as far as it is about orgs, people and what they did. */
import type { Transaction } from "kysely";
import type { Tables } from "../tables.ts";

export function peopleTables(id: string): string[] {
  return [
    `create table orgs (id ${id} not null primary key, created_at bigint not null, suspended_at bigint, doc text not null)`,
    `alter table users add column role text not null default 'member'`,
    `alter table users add column email text`,
    `alter table users add column external_id text`,
    `alter table users add column disabled_at bigint`,
    `create unique index users_by_email on users (org_id, email) where email is not null`,
    `create unique index users_by_external_id on users (org_id, external_id) where external_id is not null`,
    `create index api_keys_by_user on api_keys (user_id)`,
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

/** Version 5: orgs are rows, and what is asked of users is in columns; version 4 has an org only as an id of its users. */
export async function knownOrgs(tx: Transaction<Tables>): Promise<void> {
  const users = await tx
    .selectFrom("users")
    .select(["id", "org_id", "created_at", "doc"])
    .orderBy("created_at")
    .execute();
  const orgs = new Map<string, number>();
  for (const { id, org_id, created_at, doc } of users) {
    if (!orgs.has(org_id)) orgs.set(org_id, created_at);
    const { role, ...rest } = JSON.parse(doc) as { role: Tables["users"]["role"] };
    await tx
      .updateTable("users")
      .set({ role, doc: JSON.stringify(rest) })
      .where("id", "=", id)
      .execute();
  }
  for (const [id, created_at] of orgs) {
    const row = { id, created_at, suspended_at: null, doc: JSON.stringify({ name: "local" }) };
    await tx.insertInto("orgs").values(row).execute();
  }
}

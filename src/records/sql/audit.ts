/** The audit log in SQL. */
import type { Kysely } from "kysely";
import type { AuditEntry } from "../../domain/audit.ts";
import type { AuditRecords } from "../audit.ts";
import type { AuditRow, Tables } from "./tables.ts";

export function auditRecords(db: Kysely<Tables>): AuditRecords {
  return {
    async insert({ id, orgId, at, userId, action, targetId, ...doc }) {
      const row = { id, org_id: orgId, at, user_id: userId, action, target_id: targetId, doc: JSON.stringify(doc) };
      await db.insertInto("audit").values(row).execute();
    },
    async list({ orgId, limit, userId, action, targetId, from, until, after }) {
      let select = db.selectFrom("audit").selectAll().where("org_id", "=", orgId);
      if (userId !== undefined) select = select.where("user_id", "=", userId);
      if (action !== undefined) select = select.where("action", "=", action);
      if (targetId !== undefined) select = select.where("target_id", "=", targetId);
      if (from !== undefined) select = select.where("at", ">=", from);
      if (until !== undefined) select = select.where("at", "<", until);
      if (after !== undefined) {
        select = select.where(({ eb, refTuple, tuple }) => eb(refTuple("at", "id"), "<", tuple(after.at, after.id)));
      }
      return (await select.orderBy("at", "desc").orderBy("id", "desc").limit(limit).execute()).map(rowToEntry);
    },
    async drop(before, limit) {
      const old = db.selectFrom("audit").select("id").where("at", "<", before).orderBy("at").orderBy("id").limit(limit);
      const { numDeletedRows } = await db.deleteFrom("audit").where("id", "in", old).executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}

function rowToEntry({ id, org_id, at, user_id, action, target_id, doc }: AuditRow): AuditEntry {
  const rest = JSON.parse(doc) as Pick<AuditEntry, "keyId" | "requestId" | "outcome" | "facts">;
  return { id, orgId: org_id, at, userId: user_id, action, targetId: target_id, ...rest };
}

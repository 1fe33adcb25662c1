/** Sessions that no list shows, in SQL. */
import type { Kysely } from "kysely";
import type { AttachmentRecords } from "../attachments.ts";
import { rowToSession } from "./rows/session-row.ts";
import type { Tables } from "./tables.ts";

export function attachmentRecords(db: Kysely<Tables>): AttachmentRecords {
  return {
    async list({ after = "", limit }) {
      const select = db.selectFrom("sessions").selectAll().where("id", ">", after).orderBy("id").limit(limit);
      return (await select.execute()).map(rowToSession);
    },
    async attach(id, { orgId, userId, workspaceId, repo }, at) {
      const row = await db
        .updateTable("sessions")
        .set({ org_id: orgId, user_id: userId, workspace_id: workspaceId, repo, updated_at: at })
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst();
      return row === undefined ? null : rowToSession(row);
    },
  };
}

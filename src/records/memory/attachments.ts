/** Sessions that no list shows, in memory. */
import type { AttachmentRecords } from "../attachments.ts";
import type { Rows } from "./rows.ts";

export function attachmentRecords(rows: Rows): AttachmentRecords {
  return {
    async list({ after = "", limit }) {
      const later = [...rows.sessions.values()].filter(({ id }) => id > after);
      return later.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
    },
    async attach(id, { orgId, userId, workspaceId, repo }, at) {
      const session = rows.sessions.get(id);
      if (session === undefined) return null;
      const attached = { ...session, orgId, userId, workspaceId, repo, updatedAt: at };
      rows.sessions.set(id, attached);
      return attached;
    },
  };
}

/**
 * The records' part for sessions that no list shows: it finds every session, and changes where one belongs (S7).
 *
 * A driver may ignore who the caller is. The engine lets only the owner of the data folder use this part, and decides which
 * sessions that person may see.
 */
import type { Session } from "../domain/session.ts";

export interface AttachmentRecords {
  /** Returns the sessions of all owners and orgs, deleted ones too, ascending by id. `after` is exclusive. */
  list(page: { after?: string; limit: number }): Promise<Session[]>;
  /** Changes where a session belongs, and sets `updatedAt` to `at`. Returns the session as it then is, or null if there is none. */
  attach(id: string, attachment: SessionAttachment, at: number): Promise<Session | null>;
}

/** The fields that say where a session belongs: lists and workspaces find it by them. */
export type SessionAttachment = Pick<Session, "orgId" | "userId" | "workspaceId" | "repo">;

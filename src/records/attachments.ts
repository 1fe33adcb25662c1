/**
 * The records' part for sessions that no list shows: it finds every session, and attaches one to another owner, workspace or repository (S7).
 *
 * A driver may ignore who the caller is. The engine lets only the owner of the data folder use this part, and decides which
 * sessions that user may see.
 */
import type { Session } from "../domain/session.ts";

export interface AttachmentRecords {
  /** Returns the sessions of all owners and orgs, deleted ones too, ascending by id. `after` is exclusive. */
  list(page: { after?: string; limit: number }): Promise<Session[]>;
  /** Replaces the attachment of a session, and sets `updatedAt` to `at`. Returns the session as it then is, or null if there is none. */
  attach(id: string, attachment: SessionAttachment, at: number): Promise<Session | null>;
}

/** The fields by which lists and workspaces find a session. */
export type SessionAttachment = Pick<Session, "orgId" | "userId" | "workspaceId" | "repo">;

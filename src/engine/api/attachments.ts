/** Sessions that no list shows to the person at this machine, and how they are attached again (S7, B2). */
import type { Caller } from "../../domain/caller.ts";
import type { Session } from "../../domain/session.ts";

/** Only the owner of the data folder may use it, at its machine. Every method throws `forbidden` for any other caller. */
export interface Attachments {
  /** Sessions that a list of the caller lacks in this place, newest activity first. Removed sessions and drafts are not among them. */
  find(caller: Caller, place: AttachmentPlace): Promise<DetachedSession[]>;
  /**
   * Attaches one of them to this place: it gets the place's folder and name, a workspace that exists, and the caller as its
   * owner, as far as its causes ask for it. Throws `not_found` for a session that `find` does not give.
   */
  attach(caller: Caller, sessionId: string, place: AttachmentPlace): Promise<Session>;
}

/** The place where the person works now. */
export interface AttachmentPlace {
  /** The absolute path of the working copy's top folder, or of the folder itself outside of git. */
  folder: string;
  /** The name under which the folder's sessions are listed. */
  name: string;
  /** True if the folder is a repository; else its name is the workspace label of its sessions. */
  isRepository: boolean;
  hasFolder(path: string): boolean;
  /** What a session's workspace id stands for. `label`: a text of a client's own that is no workspace's id. */
  workspaceState(id: string): Promise<WorkspaceState>;
}

export type WorkspaceState = "exists" | "gone" | "label";

/**
 * Why a list lacks the session.
 * - `folder_moved`: the folder that it is about is gone. Lists of this folder do not have it.
 * - `name_changed`: it is about this folder, and the folder has another name now, for example since it has an origin.
 * - `workspace_gone`: its workspace was deleted.
 * - `owner_unknown`: its owner, or their org, is not in the records, so no person can list it.
 * - `other_owner`: another person of the data folder's own org owns it privately.
 */
export type DetachedCause = "folder_moved" | "name_changed" | "workspace_gone" | "owner_unknown" | "other_owner";

export interface DetachedSession {
  session: Session;
  /** One cause or more. */
  causes: DetachedCause[];
  /** The folder that the session is about; null if it names none. */
  folder: string | null;
  /** The name of the other owner; null unless the cause is `other_owner`. */
  ownerName: string | null;
  /**
   * True if it is certain that the session belongs here. Else a person must name it: another folder is gone and nothing says that
   * it became this one, the session may be about another repository on purpose, or another person owns it.
   */
  isCertain: boolean;
}

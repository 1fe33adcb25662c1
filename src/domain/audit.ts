/** The audit log: which user did what to which thing, and how it ended. It never contains the content of the thing. */
import type { ErrorCode } from "./errors.ts";
import type { Millis } from "./ids.ts";

/** The actions that the log records, as `subject.verb`. */
export const auditActions = [
  "org.create",
  "org.rename",
  "org.suspend",
  "org.resume",
  "user.create",
  "user.change",
  "user.role",
  "user.disable",
  "user.enable",
  "user.erase",
  "key.create",
  "key.revoke",
  "device.code",
  "device.pair",
  "device.revoke",
  "browser.code",
  "browser.sign_in",
  "browser.sign_out",
  "session.share",
  "session.unshare",
  "session.invite",
  "session.dismiss",
  "session.archive",
  "session.unarchive",
  "session.remove",
  "session.restore",
  "session.purge",
  "session.export",
  "session.import",
  "session.attach",
  "garbage.collect",
  "context.change",
  "context.remove",
  "workspace.create",
  "workspace.delete",
  "transcript.correct",
  "permission.forget",
  "memory.add",
  "memory.change",
  "memory.forget",
  "budget.set",
  "budget.remove",
  "index.start",
  "index.stop",
] as const;
export type AuditAction = (typeof auditActions)[number];

export interface AuditEntry {
  id: string;
  orgId: string;
  at: Millis;
  /** The user who acted. Null for the operator of the data, who belongs to no org. */
  userId: string | null;
  /** The API key that the user came with. Null if there was none, for example on the machine of the data. */
  keyId: string | null;
  requestId: string | null;
  action: AuditAction;
  /** The id of the thing that `action` names. Null if there is none, or if it was never made. */
  targetId: string | null;
  /** `done`, or the code of the error that refused or failed it. */
  outcome: "done" | ErrorCode;
  /** Small facts about the action, for example `{ role: "reader" }`. Never text that a person wrote, never a secret. */
  facts: Record<string, string | number | boolean>;
}

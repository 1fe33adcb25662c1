/** The audit log: who did what to which thing, and how it ended; never what the thing says. */
import type { ErrorCode } from "./errors.ts";
import type { Millis } from "./ids.ts";

/** What is written down, as `subject.verb`. */
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
  "key.create",
  "key.revoke",
  "device.code",
  "device.pair",
  "device.revoke",
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
] as const;
export type AuditAction = (typeof auditActions)[number];

export interface AuditEntry {
  id: string;
  orgId: string;
  at: Millis;
  /** Null: whoever runs the program on its own data, who belongs to no org. */
  userId: string | null;
  /** The key they came with; null: none, for example on the machine of the data. */
  keyId: string | null;
  requestId: string | null;
  action: AuditAction;
  /** Id of the thing that `action` names; null: it has none, or none yet. */
  targetId: string | null;
  /** `done`, or the code of the refusal or failure. */
  outcome: "done" | ErrorCode;
  /** Small facts that say what was done, for example `{ role: "reader" }`. Never text that people wrote, never a secret. */
  facts: Record<string, string | number | boolean>;
}

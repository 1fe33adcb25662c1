/** Orgs, users, participants of sessions, and the audit log in requests and responses (H4, S7). */
import * as z from "zod";
import type { AuditEntry } from "../domain/audit.ts";
import { auditActions } from "./audit-actions.ts";
import type { Org, User } from "../domain/caller.ts";
import { isoTime } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import { isoTimeOrNull, sessionSchema } from "./session.ts";
import { columnText, errorCodeSchema, idSchema, roleSchema, timeSchema, queryNumber } from "./values.ts";

export const orgSchema = z
  .object({
    id: idSchema,
    name: z.string(),
    createdAt: timeSchema,
    suspendedAt: timeSchema
      .nullable()
      .describe("If it is not null, the org is suspended and no user of the org has access."),
  })
  .meta({ id: "Org" });
export type WireOrg = z.infer<typeof orgSchema>;

export const orgPatchSchema = z.strictObject({ name: columnText().min(1) }).meta({ id: "OrgPatch" });

export const userSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    email: z.string().nullable().describe("Visible to admins and to the user; otherwise null."),
    externalId: z
      .string()
      .nullable()
      .describe("The user's id at the identity provider. Visible to admins and to the user; otherwise null."),
    role: roleSchema,
    createdAt: timeSchema,
    disabledAt: timeSchema
      .nullable()
      .describe("If it is not null, the user is disabled and the user's keys are refused."),
  })
  .meta({ id: "User" });
export type WireUser = z.infer<typeof userSchema>;

const email = columnText().regex(/^[^\s@]+@[^\s@]+$/, "is not an email address");
const userFacts = {
  name: columnText().min(1),
  email: email.nullable().optional(),
  externalId: columnText().min(1).nullable().optional(),
  role: roleSchema.optional(),
};
export const userStartSchema = z.strictObject(userFacts).meta({ id: "UserStart" });
export type WireUserStart = z.input<typeof userStartSchema>;

export const userChangeSchema = z
  .strictObject({
    ...userFacts,
    name: userFacts.name.optional(),
    disabled: z
      .boolean()
      .optional()
      .describe("`true`: the user's keys are refused, and everything that the user has open ends."),
  })
  .meta({ id: "UserChange", description: "Only the named fields change." });
export type WireUserChange = z.input<typeof userChangeSchema>;

const nextCursor = z.string().nullable().describe("Null on the last page.");
export const pageQuery = {
  limit: queryNumber(1, limits.pageSizeMax).optional(),
  cursor: z.string().optional().describe("The `nextCursor` of the previous page."),
};

export const userListSchema = z.object({ users: z.array(userSchema), nextCursor }).meta({ id: "UserList" });

export const sharedSchema = z
  .object({
    session: sessionSchema,
    participants: z
      .array(z.object({ userId: z.string(), name: z.string(), role: roleSchema }))
      .describe(
        "Users who were invited to the session, or who made a turn in it. This includes the owner if the owner made a turn. One with the role `reader` may only read it.",
      ),
  })
  .meta({ id: "Shared" });
export type WireShared = z.infer<typeof sharedSchema>;

const userIds = z.array(columnText()).max(limits.participantsPerSessionMax).optional();
export const sharingChangeSchema = z
  .strictObject({
    isPublic: z.boolean().optional().describe("True if all users of the org may read and fork the session."),
    invite: userIds.describe("Users of the org who may now read and continue the session."),
    dismiss: userIds.describe("Users whose invitation ends."),
  })
  .meta({ id: "SharingChange" });
export type WireSharingChange = z.input<typeof sharingChangeSchema>;

const auditAction = z.enum(auditActions);
export const auditEntrySchema = z
  .object({
    id: idSchema,
    at: timeSchema,
    userId: z.string().nullable().describe("The user who acted. Null: the operator of the data."),
    keyId: z.string().nullable().describe("The API key of the request. Null: the request had no API key."),
    requestId: z.string().nullable(),
    action: auditAction,
    targetId: z.string().nullable().describe("The target of the action."),
    outcome: z.union([z.literal("done"), errorCodeSchema]),
    facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    sessionId: idSchema.nullable().describe("The session that the entry is about, if the caller may see it."),
  })
  .meta({ id: "AuditEntry" });
export type WireAuditEntry = z.infer<typeof auditEntrySchema>;

export const auditListSchema = z.object({ entries: z.array(auditEntrySchema), nextCursor }).meta({ id: "AuditList" });
export const auditQuerySchema = z.strictObject({
  ...pageQuery,
  userId: z.string().optional(),
  action: auditAction.optional(),
  targetId: z.string().optional(),
  from: timeSchema.optional().describe("The earliest time."),
  until: timeSchema.optional().describe("The time before which an entry must be."),
});

export function toWireOrg({ id: of, name, createdAt, suspendedAt }: Org): WireOrg {
  return { id: of, name, createdAt: isoTime(createdAt), suspendedAt: isoTimeOrNull(suspendedAt) };
}

export function toWireUser({ orgId: _org, createdAt, disabledAt, ...of }: User): WireUser {
  return { ...of, createdAt: isoTime(createdAt), disabledAt: isoTimeOrNull(disabledAt) };
}

export function toWireAuditEntry({
  orgId: _org,
  at,
  ...of
}: AuditEntry & { sessionId: string | null }): WireAuditEntry {
  return { ...of, at: isoTime(at) };
}

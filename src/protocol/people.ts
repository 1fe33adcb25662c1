/** Orgs, people, who takes part in a session, and the audit log, on the wire (H4, S7). */
import { z } from "zod";
import { auditActions, type AuditEntry } from "../domain/audit.ts";
import type { Org, User } from "../domain/caller.ts";
import { isoTime } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import { isoTimeOrNull, session } from "./session.ts";
import { columnText, errorCode, id, role, time, queryNumber } from "./values.ts";

export const org = z
  .object({
    id,
    name: z.string(),
    createdAt: time,
    suspendedAt: time.nullable().describe("While it is not null, nobody of the org is let in."),
  })
  .meta({ id: "Org" });
export type WireOrg = z.infer<typeof org>;

export const orgPatch = z.strictObject({ name: columnText().min(1) }).meta({ id: "OrgPatch" });

export const user = z
  .object({
    id: z.string(),
    name: z.string(),
    email: z.string().nullable().describe("For admins and the user; else null."),
    externalId: z
      .string()
      .nullable()
      .describe("Who they are to the identity provider; for admins and the user, else null."),
    role,
    createdAt: time,
    disabledAt: time.nullable().describe("While it is not null, none of their keys is taken."),
  })
  .meta({ id: "User" });
export type WireUser = z.infer<typeof user>;

const email = columnText().regex(/^[^\s@]+@[^\s@]+$/, "is not an address of mail");
const userFacts = {
  name: columnText().min(1),
  email: email.nullable().optional(),
  externalId: columnText().min(1).nullable().optional(),
  role: role.optional(),
};
export const userStart = z.strictObject(userFacts).meta({ id: "UserStart" });
export type WireUserStart = z.input<typeof userStart>;

export const userChange = z
  .strictObject({
    ...userFacts,
    name: userFacts.name.optional(),
    disabled: z
      .boolean()
      .optional()
      .describe("`true`: their keys are not taken any more, and what they have open ends."),
  })
  .meta({ id: "UserChange", description: "Only the named fields change." });
export type WireUserChange = z.input<typeof userChange>;

const nextCursor = z.string().nullable().describe("Null on the last page.");
export const pageQuery = {
  limit: queryNumber(1, limits.pageSizeMax).optional(),
  cursor: z.string().optional().describe("`nextCursor` of the page before."),
};

export const userList = z.object({ users: z.array(user), nextCursor }).meta({ id: "UserList" });

export const shared = z
  .object({
    session,
    participants: z
      .array(z.object({ userId: z.string(), name: z.string() }))
      .describe("Who was invited, or made a turn in it; the owner among them if they did."),
  })
  .meta({ id: "Shared" });
export type WireShared = z.infer<typeof shared>;

const userIds = z.array(columnText()).max(limits.participantsPerSessionMax).optional();
export const sharingChange = z
  .strictObject({
    isPublic: z.boolean().optional().describe("Whether all of the org may read and fork it."),
    invite: userIds.describe("Users of the org who may read and continue it from now on."),
    dismiss: userIds.describe("Users who may not any more."),
  })
  .meta({ id: "SharingChange" });
export type WireSharingChange = z.input<typeof sharingChange>;

const auditAction = z.enum(auditActions);
export const auditEntry = z
  .object({
    id,
    at: time,
    userId: z.string().nullable().describe("Null: the operator of the data."),
    keyId: z.string().nullable().describe("The key they came with; null: none."),
    requestId: z.string().nullable(),
    action: auditAction,
    targetId: z.string().nullable().describe("The thing that the action names."),
    outcome: z.union([z.literal("done"), errorCode]),
    facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  })
  .meta({ id: "AuditEntry" });
export type WireAuditEntry = z.infer<typeof auditEntry>;

export const auditList = z.object({ entries: z.array(auditEntry), nextCursor }).meta({ id: "AuditList" });
export const auditQuery = z.strictObject({
  ...pageQuery,
  userId: z.string().optional(),
  action: auditAction.optional(),
  targetId: z.string().optional(),
});

export function toWireOrg({ id: of, name, createdAt, suspendedAt }: Org): WireOrg {
  return { id: of, name, createdAt: isoTime(createdAt), suspendedAt: isoTimeOrNull(suspendedAt) };
}

export function toWireUser({ orgId: _org, createdAt, disabledAt, ...of }: User): WireUser {
  return { ...of, createdAt: isoTime(createdAt), disabledAt: isoTimeOrNull(disabledAt) };
}

export function toWireAuditEntry({ orgId: _org, at, ...of }: AuditEntry): WireAuditEntry {
  return { ...of, at: isoTime(at) };
}

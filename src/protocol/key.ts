/** API keys and the caller in requests and responses (H4). A secret is shown only once, when its key is made. */
import * as z from "zod";
import { isBrowserKey, type ApiKey } from "../domain/caller.ts";
import { isoTime } from "../domain/ids.ts";
import { pageQuery } from "./people.ts";
import { isoTimeOrNull } from "./session.ts";
import { columnText, idSchema, roleSchema, timeSchema } from "./values.ts";

const keyLimitsSchema = z
  .strictObject({
    concurrentRunsMax: z.int().min(1).nullable().describe("Running turns at the same time, on each server."),
    requestsPerMinuteMax: z.int().min(1).nullable().describe("Requests per minute, across all servers."),
  })
  .meta({ id: "ApiKeyLimits" });

export const apiKeySchema = z
  .object({
    id: idSchema,
    userId: z.string(),
    name: z.string(),
    deviceId: z.string().nullable().describe("The device, if the key is a device's token."),
    isBrowser: z.boolean().describe("True for a browser that is signed in to the page."),
    roleMax: roleSchema
      .nullable()
      .describe("The role of the caller who made the key. The key never has more rights. Null: not known."),
    workspaceId: z
      .string()
      .nullable()
      .describe("The workspace of new sessions, if a request with this key names none. Null: there is none."),
    limits: keyLimitsSchema.nullable().describe("The key's own limits. Null: only those of its user and org."),
    prefix: z.string().describe("The first characters of the secret."),
    createdAt: timeSchema,
    expiresAt: timeSchema.nullable(),
    lastUsedAt: timeSchema.nullable(),
    revokedAt: timeSchema.nullable(),
  })
  .meta({ id: "ApiKey" });
export type WireApiKey = z.infer<typeof apiKeySchema>;

export const keyListSchema = z
  .object({ keys: z.array(apiKeySchema), nextCursor: z.string().nullable().describe("Null on the last page.") })
  .meta({ id: "ApiKeyList" });

export const keyListQuerySchema = z.strictObject({
  ...pageQuery,
  userId: z.string().optional().describe("Show only keys of this user."),
});

export const keyStartSchema = z
  .strictObject({
    name: columnText().min(1),
    userId: columnText()
      .optional()
      .describe("The owner of the key; only admins may name another user. If absent: the caller."),
    expiresAt: z.iso.datetime().optional(),
    workspaceId: z
      .string()
      .min(1)
      .optional()
      .describe("The workspace of new sessions, if a request with this key names none."),
    limits: keyLimitsSchema.partial().optional().describe("Limits of this key, beside those of its user and org."),
  })
  .meta({ id: "ApiKeyStart" });
export type WireKeyStart = z.input<typeof keyStartSchema>;

export const createdKeySchema = z
  .object({ key: apiKeySchema, secret: z.string().describe("The secret. It is never shown again.") })
  .meta({ id: "CreatedApiKey" });
export type WireCreatedKey = z.infer<typeof createdKeySchema>;

export const meSchema = z
  .object({
    orgId: z.string(),
    orgName: z.string(),
    userId: z.string(),
    name: z.string(),
    role: roleSchema,
    deviceId: z.string().nullable().describe("The device, if the key is a device's token."),
    workspaceId: z
      .string()
      .nullable()
      .describe("The only workspace that the caller may see. Null: the caller is not limited to one workspace."),
  })
  .meta({ id: "Me" });
export type WireMe = z.infer<typeof meSchema>;

export function toWireKey(of: ApiKey): WireApiKey {
  return {
    id: of.id,
    userId: of.userId,
    name: of.name,
    deviceId: of.deviceId,
    isBrowser: isBrowserKey(of),
    roleMax: of.roleMax,
    workspaceId: of.workspaceId,
    limits: of.limits,
    prefix: of.prefix,
    createdAt: isoTime(of.createdAt),
    expiresAt: isoTimeOrNull(of.expiresAt),
    lastUsedAt: isoTimeOrNull(of.lastUsedAt),
    revokedAt: isoTimeOrNull(of.revokedAt),
  };
}

/** API keys and the caller on the wire (H4). A secret is shown once, when its key is made. */
import { z } from "zod";
import type { ApiKey } from "../domain/caller.ts";
import { isoTime } from "../domain/ids.ts";
import { pageQuery } from "./people.ts";
import { isoTimeOrNull } from "./session.ts";
import { columnText, id, role, time } from "./values.ts";

export const apiKey = z
  .object({
    id,
    userId: z.string(),
    name: z.string(),
    deviceId: z.string().nullable().describe("Of a device's token."),
    prefix: z.string().describe("The first characters of the secret."),
    createdAt: time,
    expiresAt: time.nullable(),
    lastUsedAt: time.nullable(),
    revokedAt: time.nullable(),
  })
  .meta({ id: "ApiKey" });
export type WireApiKey = z.infer<typeof apiKey>;

export const keyList = z
  .object({ keys: z.array(apiKey), nextCursor: z.string().nullable().describe("Null on the last page.") })
  .meta({ id: "ApiKeyList" });

export const keyListQuery = z.strictObject({
  ...pageQuery,
  userId: z.string().optional().describe("Only this user's."),
});

export const keyStart = z
  .strictObject({
    name: columnText().min(1),
    userId: columnText().optional().describe("Whose it is to be; for admins. Absent: the caller's."),
    expiresAt: z.iso.datetime().optional(),
  })
  .meta({ id: "ApiKeyStart" });
export type WireKeyStart = z.input<typeof keyStart>;

export const createdKey = z
  .object({ key: apiKey, secret: z.string().describe("Never shown again.") })
  .meta({ id: "CreatedApiKey" });
export type WireCreatedKey = z.infer<typeof createdKey>;

export const me = z
  .object({
    orgId: z.string(),
    orgName: z.string(),
    userId: z.string(),
    name: z.string(),
    role,
    deviceId: z.string().nullable().describe("Of a device's token."),
    workspaceId: z
      .string()
      .nullable()
      .describe("The one workspace that the caller sees; null: there is no such bound."),
  })
  .meta({ id: "Me" });
export type WireMe = z.infer<typeof me>;

export function toWireKey(of: ApiKey): WireApiKey {
  return {
    id: of.id,
    userId: of.userId,
    name: of.name,
    deviceId: of.deviceId,
    prefix: of.prefix,
    createdAt: isoTime(of.createdAt),
    expiresAt: isoTimeOrNull(of.expiresAt),
    lastUsedAt: isoTimeOrNull(of.lastUsedAt),
    revokedAt: isoTimeOrNull(of.revokedAt),
  };
}

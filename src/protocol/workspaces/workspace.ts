/** Workspaces, their transcripts and their permissions in requests and responses (W1, W5, W6, P4). */
import * as z from "zod";
import { isoTime } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { ShownTranscript } from "../../domain/transcript.ts";
import type { BoundWorkspace, RememberedPermission } from "../../domain/workspace.ts";
import { columnText, timeSchema } from "../values.ts";

export const workspaceParamsSchema = z.strictObject({ workspace: columnText().min(1) });

export const workspaceSchema = z
  .object({
    id: z.string().describe("A UUID, or `default`."),
    name: z.string().nullable(),
    provider: z
      .string()
      .nullable()
      .describe("The provider that answers there, unless the workspace's own configuration names another."),
    createdAt: timeSchema,
    lastAccessedAt: timeSchema.describe("The last use, to the minute: a connection, a session or a turn."),
    damage: z
      .string()
      .nullable()
      .describe("The damage and its fix. Null: it is intact. Of a damaged workspace only the id is reliable."),
    devices: z
      .array(z.string())
      .describe("The ids, which the devices chose for themselves, of those that are bound to it."),
    transcript: z
      .object({
        sessionId: z
          .string()
          .nullable()
          .describe("The current session, which wrote `session.md`. Null: there is none."),
        messages: z.int().nullable().describe("Null: the file cannot be read as a conversation."),
        bytes: z.int(),
        isEdited: z
          .boolean()
          .describe("True if a person changed the file. Then the next session begins with its content."),
      })
      .nullable()
      .describe("`session.md`. Null: it cannot be read, because the workspace is damaged."),
  })
  .meta({ id: "Workspace" });
export type WireWorkspace = z.infer<typeof workspaceSchema>;

export const workspaceListSchema = z
  .object({ workspaces: z.array(workspaceSchema).describe("The last used first.") })
  .meta({ id: "WorkspaceList" });

export const workspaceStartSchema = z
  .strictObject({
    name: z.string().min(1).max(limits.workspaceNameCharactersMax).optional().describe("One line, for lists."),
    provider: columnText().min(1).optional().describe("The provider that answers there."),
  })
  .meta({ id: "WorkspaceStart" });
export type WireWorkspaceStart = z.input<typeof workspaceStartSchema>;

export const workspaceDeletionSchema = z.strictObject({
  unusedSince: timeSchema
    .optional()
    .describe("The workspace is deleted only if it was not used after this time: `lastAccessedAt`, as you saw it."),
});

export const transcriptSchema = z
  .object({
    text: z
      .string()
      .nullable()
      .describe("The content of `session.md`. Null: it is not text, or too large; `fault` says which."),
    hash: z.string().nullable().describe("SHA-256 of the bytes of the file. Null: they were not read."),
    bytes: z.int(),
    fault: z
      .object({ reason: z.string(), line: z.int().nullable().describe("The line that is wrong, from 1.") })
      .nullable()
      .describe("Why the file cannot be read as a conversation. Null: it can."),
  })
  .meta({ id: "Transcript" });
export type WireTranscript = z.infer<typeof transcriptSchema>;

export const transcriptCorrectionSchema = z
  .strictObject({
    text: z.string().max(limits.transcriptEditBytesMax).describe("The whole new content."),
    expectedHash: z
      .string()
      .max(64)
      .describe("The `hash` of the content that this text was made from; without a file it is that of no bytes."),
  })
  .meta({ id: "TranscriptCorrection" });
export type WireTranscriptCorrection = z.input<typeof transcriptCorrectionSchema>;

const permission = z
  .object({ key: z.string().describe("What is allowed, in words that are compared exactly."), allowedAt: timeSchema })
  .meta({ id: "Permission" });

export const permissionListSchema = z
  .object({ permissions: z.array(permission).describe("Oldest first.") })
  .meta({ id: "PermissionList" });
export type WirePermission = z.infer<typeof permission>;

export const permissionChoiceSchema = z.strictObject({
  key: z.string().min(1).max(limits.fieldCharactersMax).describe("The `key` of the permission."),
});

export function toWireWorkspace({
  createdAt,
  lastAccessedAt,
  ...workspace
}: BoundWorkspace & { transcript: ShownTranscript | null }): WireWorkspace {
  return { ...workspace, createdAt: isoTime(createdAt), lastAccessedAt: isoTime(lastAccessedAt) };
}

export function toWirePermission({ key, allowedAt }: RememberedPermission): WirePermission {
  return { key, allowedAt: isoTime(allowedAt) };
}

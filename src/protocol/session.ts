/** Sessions on the wire (S1, S7): one shape for a single session and for a row of a list. */
import { z } from "zod";
import { isoTime } from "../domain/ids.ts";
import type { Millis } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import type { Session } from "../domain/session.ts";
import { columnText, id, metadata, queryFlag, time, turnStatus, queryNumber } from "./values.ts";

export const session = z
  .object({
    id,
    name: z.string(),
    key: z.string(),
    description: z.string(),
    labels: z.array(z.string()),
    isPublic: z.boolean(),
    category: z.string().nullable(),
    rating: z.number().nullable(),
    userId: z.string(),
    agentContextId: z.string(),
    agentContextName: z.string().nullable().describe("Null: the context is no longer configured."),
    conversationContextId: z.string(),
    conversationContextName: z.string().nullable(),
    workspaceId: z.string().nullable(),
    repo: z.string().nullable(),
    defaultLanguage: z.string().nullable(),
    metadata: z.record(z.string(), z.unknown()),
    originTurnId: id.nullable().describe("Of a fork: the turn that it begins below, mostly of another session."),
    headTurnId: id.nullable().describe("The turn that the next instruction continues from."),
    turnCount: z.int(),
    lastTurnStatus: turnStatus.nullable(),
    lastTurnAt: time.nullable(),
    tokensTotal: z.int(),
    costUsd: z.number().describe("US dollars: the sum of what its turns cost, of those whose price is known."),
    createdAt: time,
    updatedAt: time,
    activeAt: time.describe("The order of lists: newest of creation and turn activity."),
    archivedAt: time.nullable().describe("Not null: the session is readable and takes no turns."),
    deletedAt: time.nullable().describe("Not null: the session was removed; it can be restored until it is purged."),
  })
  .meta({ id: "Session" });

export type WireSession = z.infer<typeof session>;

/** Names of contexts by id; what is not in it is no longer configured. */
export interface ContextNames {
  agents: ReadonlyMap<string, string>;
  conversations: ReadonlyMap<string, string>;
}

export function isoTimeOrNull(at: Millis | null): string | null {
  return at === null ? null : isoTime(at);
}

export function toWireSession(of: Session, names: ContextNames): WireSession {
  return {
    id: of.id,
    name: of.name,
    key: of.key,
    description: of.description,
    labels: of.labels,
    isPublic: of.isPublic,
    category: of.category,
    rating: of.rating,
    userId: of.userId,
    agentContextId: of.agentContextId,
    agentContextName: names.agents.get(of.agentContextId) ?? null,
    conversationContextId: of.conversationContextId,
    conversationContextName: names.conversations.get(of.conversationContextId) ?? null,
    workspaceId: of.workspaceId,
    repo: of.repo,
    defaultLanguage: of.defaultLanguage,
    metadata: of.metadata,
    originTurnId: of.originTurnId,
    headTurnId: of.headTurnId,
    turnCount: of.lastSequence,
    lastTurnStatus: of.lastTurnStatus,
    lastTurnAt: isoTimeOrNull(of.lastTurnAt),
    tokensTotal: of.tokensTotal,
    costUsd: of.costUsd,
    createdAt: isoTime(of.createdAt),
    updatedAt: isoTime(of.updatedAt),
    activeAt: isoTime(of.activeAt),
    archivedAt: isoTimeOrNull(of.archivedAt),
    deletedAt: isoTimeOrNull(of.deletedAt),
  };
}

const facts = {
  name: columnText().optional(),
  key: columnText().optional(),
  description: columnText().optional(),
  labels: z.array(columnText()).max(limits.labelsPerSessionMax).optional(),
  isPublic: z.boolean().optional(),
  metadata: metadata.optional(),
};

/** What a person may say of a new session inside an execute request. */
export const sessionFacts = z
  .strictObject({ ...facts, category: columnText().optional() })
  .meta({ id: "SessionFacts" });

export const sessionStart = sessionFacts
  .extend({
    agentContextId: columnText().optional(),
    conversationContextId: columnText().optional(),
    workspaceId: columnText().optional(),
    repo: columnText().optional(),
    defaultLanguage: columnText().optional(),
    forkOf: id
      .optional()
      .describe(
        "Begin below this finished turn, of any session that the caller may read, and take over what is not named here.",
      ),
    continueWorkspace: z
      .boolean()
      .optional()
      .describe(
        "Begin where the session that was used last in the workspace is, or with what a person wrote into its `session.md`.",
      ),
  })
  .superRefine(({ continueWorkspace, workspaceId, forkOf }, context) => {
    if (continueWorkspace !== true) return;
    const fault = workspaceId === undefined ? "needs a workspaceId" : forkOf === undefined ? null : "excludes forkOf";
    if (fault !== null) context.addIssue({ code: "custom", path: ["continueWorkspace"], message: fault });
  })
  .meta({ id: "SessionStart" });
export type WireSessionStart = z.input<typeof sessionStart>;

export const sessionPatch = z
  .strictObject({ ...facts, category: columnText().nullable().optional(), rating: z.number().nullable().optional() })
  .meta({ id: "SessionPatch", description: "Only the named fields change. A name given here is never overwritten." });
export type WireSessionPatch = z.input<typeof sessionPatch>;

export const sessionListQuery = z
  .strictObject({
    limit: queryNumber(1, limits.pageSizeMax).optional(),
    cursor: z.string().optional().describe("`nextCursor` of the page before."),
    archived: queryFlag().optional(),
    removed: queryFlag()
      .optional()
      .describe("`true`: the caller's removed sessions, and nothing else; takes no filter."),
    repo: columnText().optional(),
    workspaceId: columnText().optional(),
  })
  .superRefine(({ removed, ...filters }, context) => {
    for (const [field, value] of Object.entries(filters)) {
      if (removed !== true || value === undefined) continue;
      context.addIssue({ code: "custom", path: [field], message: "cannot stand beside removed=true" });
    }
  });

export const sessionList = z
  .object({ sessions: z.array(session), nextCursor: z.string().nullable().describe("Null on the last page.") })
  .meta({ id: "SessionList" });
export type WireSessionList = z.infer<typeof sessionList>;

/** Sessions in requests and responses (S1, S7). A single session and a row of a list have the same shape. */
import * as z from "zod";
import { isoTime, type Millis } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import type { Session } from "../domain/session.ts";
import type { StopReason } from "../domain/events.ts";
import { linesByPart, type CompletedSummary } from "../domain/summary.ts";
import {
  columnText,
  idSchema,
  metadataSchema,
  modelSettingsSchema,
  queryFlag,
  stopReasonSchema,
  timeSchema,
  turnStatusSchema,
  queryNumber,
} from "./values.ts";

export const sessionSchema = z
  .object({
    id: idSchema,
    name: z.string(),
    key: z.string(),
    description: z.string(),
    labels: z.array(z.string()),
    isPublic: z.boolean(),
    isDraft: z.boolean().describe("True for a draft: only its owner sees it."),
    category: z.string().nullable(),
    rating: z.number().nullable(),
    userId: z.string(),
    agentContextId: z.string(),
    agentContextName: z.string().nullable().describe("Null if the context is no longer configured."),
    conversationContextId: z.string(),
    conversationContextName: z.string().nullable(),
    model: z.string().nullable().describe("The model that was chosen for the session. Null: its contexts decide."),
    settings: modelSettingsSchema.describe("The settings that were chosen for the session."),
    workspaceId: z.string().nullable(),
    repo: z.string().nullable(),
    otherRepos: z
      .array(z.string())
      .describe("More repositories that the session is about, in order. Paths then begin with a name: `api:src/a.ts`."),
    defaultLanguage: z.string().nullable(),
    metadata: z.record(z.string(), z.unknown()),
    originTurnId: idSchema
      .nullable()
      .describe("For a fork: the turn below which it starts, usually of another session."),
    headTurnId: idSchema.nullable().describe("The turn that the next instruction continues from."),
    turnCount: z.int(),
    lastTurnStatus: turnStatusSchema.nullable(),
    lastTurnStopReason: stopReasonSchema
      .nullable()
      .describe("Why the last turn ended; `interrupted`: it was stopped. Null: there is none, it runs, or it failed."),
    lastTurnAt: timeSchema.nullable(),
    tokensTotal: z.int(),
    hasUncountedTokens: z
      .boolean()
      .describe("True: the provider did not state all tokens of the last turn, so the sums of the session lack some."),
    costUsd: z.number().describe("Cost in US dollars: the sum over the turns and summaries whose price is known."),
    summary: z
      .object({ id: idSchema, createdAt: timeSchema, throughTurnId: idSchema, text: z.string() })
      .nullable()
      .describe("The newest completed summary, with its first line. Null: there is none."),
    createdAt: timeSchema,
    updatedAt: timeSchema,
    activeAt: timeSchema.describe(
      "Time of the session's creation or of its last turn activity, whichever is later. Lists are sorted by it.",
    ),
    archivedAt: timeSchema
      .nullable()
      .describe("If it is not null, the session is archived: it is readable and takes no turns."),
    deletedAt: timeSchema
      .nullable()
      .describe("If it is not null, the session is removed. It can be restored until it is purged."),
  })
  .meta({ id: "Session" });

export type WireSession = z.infer<typeof sessionSchema>;

/** Names of contexts by id. A context that is not in the map is no longer configured. */
export interface ContextNames {
  agents: ReadonlyMap<string, string>;
  conversations: ReadonlyMap<string, string>;
}

export function isoTimeOrNull(at: Millis | null): string | null {
  return at === null ? null : isoTime(at);
}

/** What is read beside a session, to write it. */
export interface SessionContents {
  summary: CompletedSummary | null;
  /** Null: there is no turn, it runs, or it failed. */
  lastTurnStopReason: StopReason | null;
  hasUncountedTokens: boolean;
}

export function toWireSession(of: Session, names: ContextNames, beside: SessionContents): WireSession {
  const { summary, lastTurnStopReason, hasUncountedTokens } = beside;
  return {
    id: of.id,
    name: of.name,
    key: of.key,
    description: of.description,
    labels: of.labels,
    isPublic: of.isPublic,
    isDraft: of.isDraft,
    category: of.category,
    rating: of.rating,
    userId: of.userId,
    agentContextId: of.agentContextId,
    agentContextName: names.agents.get(of.agentContextId) ?? null,
    conversationContextId: of.conversationContextId,
    conversationContextName: names.conversations.get(of.conversationContextId) ?? null,
    model: of.model,
    settings: of.settings,
    workspaceId: of.workspaceId,
    repo: of.repo,
    otherRepos: of.otherRepos,
    defaultLanguage: of.defaultLanguage,
    metadata: of.metadata,
    originTurnId: of.originTurnId,
    headTurnId: of.headTurnId,
    turnCount: of.lastSequence,
    lastTurnStatus: of.lastTurnStatus,
    lastTurnStopReason,
    lastTurnAt: isoTimeOrNull(of.lastTurnAt),
    tokensTotal: of.tokensTotal,
    hasUncountedTokens,
    costUsd: of.costUsd,
    summary: summary === null ? null : toWireBrief(summary),
    createdAt: isoTime(of.createdAt),
    updatedAt: isoTime(of.updatedAt),
    activeAt: isoTime(of.activeAt),
    archivedAt: isoTimeOrNull(of.archivedAt),
    deletedAt: isoTimeOrNull(of.deletedAt),
  };
}

function toWireBrief({ id, createdAt, throughTurnId, end }: CompletedSummary): WireSession["summary"] {
  const [first] = linesByPart(end.lines);
  return { id, createdAt: isoTime(createdAt), throughTurnId, text: first?.lines[0]?.text ?? "" };
}

const facts = {
  name: columnText().optional(),
  key: columnText().optional(),
  description: columnText().optional(),
  labels: z.array(columnText()).max(limits.labelsPerSessionMax).optional(),
  isPublic: z.boolean().optional(),
  isDraft: z.boolean().optional(),
  metadata: metadataSchema.optional(),
};

function modelWords() {
  return columnText().describe("As in a turn: `<model>`, `<provider>/<model>`, or `context:<id>` for a context.");
}

/** The properties of a new session that an execute request may set. */
export const sessionFactsSchema = z
  .strictObject({ ...facts, category: columnText().optional() })
  .meta({ id: "SessionFacts" });

export const sessionStartSchema = sessionFactsSchema
  .extend({
    agentContextId: columnText().optional(),
    conversationContextId: columnText().optional(),
    model: modelWords().optional(),
    settings: modelSettingsSchema.optional(),
    workspaceId: columnText().optional(),
    repo: columnText().optional(),
    otherRepos: z
      .array(columnText())
      .max(limits.repositoriesPerSessionMax)
      .optional()
      .describe("More repositories that the session is about, in order, after `repo`."),
    defaultLanguage: columnText().optional(),
    forkOf: idSchema
      .optional()
      .describe(
        "Start below this finished turn, which may be of any session that the caller may read. Properties that the request does not set are copied from that session.",
      ),
    continueWorkspace: z
      .boolean()
      .optional()
      .describe(
        "Start from the head of the session that was used last in the workspace, or from the workspace's `session.md` if a person edited it.",
      ),
  })
  .superRefine(({ continueWorkspace, workspaceId, forkOf }, context) => {
    if (continueWorkspace !== true) return;
    const fault = workspaceId === undefined ? "needs a workspaceId" : forkOf === undefined ? null : "excludes forkOf";
    if (fault !== null) context.addIssue({ code: "custom", path: ["continueWorkspace"], message: fault });
  })
  .meta({ id: "SessionStart" });
export type WireSessionStart = z.input<typeof sessionStartSchema>;

export const sessionPatchSchema = z
  .strictObject({
    ...facts,
    category: columnText().nullable().optional(),
    rating: z.number().nullable().optional(),
    agentContextId: columnText()
      .optional()
      .describe("Another context than before clears the model and the settings that were chosen."),
    conversationContextId: columnText().optional(),
    model: modelWords().nullable().optional(),
    settings: modelSettingsSchema
      .optional()
      .describe("Replaces all settings of the session. An empty object: the contexts decide."),
  })
  .meta({
    id: "SessionPatch",
    description: "Only the fields in the request change. The program never overwrites a name that is set here.",
  });
export type WireSessionPatch = z.input<typeof sessionPatchSchema>;

export const sessionListQuerySchema = z
  .strictObject({
    limit: queryNumber(1, limits.pageSizeMax).optional(),
    cursor: z.string().optional().describe("The `nextCursor` of the previous page."),
    archived: queryFlag().optional(),
    removed: queryFlag()
      .optional()
      .describe("`true`: list only the caller's removed sessions. It cannot be combined with a filter."),
    repo: columnText().optional(),
    workspaceId: columnText().optional(),
    label: columnText().optional(),
    metadata: columnText().optional().describe("A key of the metadata, or `key=value`."),
    agentContextId: columnText().optional(),
    conversationContextId: columnText().optional(),
    status: turnStatusSchema.optional().describe("The status of the newest turn."),
    activeFrom: timeSchema.optional().describe("Only sessions whose newest activity is at this time or later."),
    activeUntil: timeSchema.optional(),
    forkOf: idSchema.optional().describe("Only forks that start below this turn."),
    tokensMin: queryNumber(0).optional(),
    tokensMax: queryNumber(0).optional(),
  })
  .superRefine(({ removed, ...filters }, context) => {
    for (const [field, value] of Object.entries(filters)) {
      if (removed !== true || value === undefined) continue;
      context.addIssue({ code: "custom", path: [field], message: "cannot be combined with removed=true" });
    }
  });

export const sessionListSchema = z
  .object({
    sessions: z.array(sessionSchema),
    nextCursor: z.string().nullable().describe("Null on the last page."),
    hidden: z
      .int()
      .nullable()
      .describe("How many sessions the filters hide. Null without a filter, and on later pages."),
  })
  .meta({ id: "SessionList" });
export type WireSessionList = z.infer<typeof sessionListSchema>;

/** Converts a session to a row, and back. */
import { storedName } from "../../../domain/given-name.ts";
import type { Session } from "../../../domain/session.ts";
import { detailsOf, foldedText, storableText } from "../../search-text.ts";
import { fullJson, leanJson, type DefaultsOf } from "./lean-json.ts";
import { plain, type PlainSql } from "../plain/plain-sql.ts";
import type { SessionRow } from "../tables.ts";

type ColumnField = keyof ReturnType<typeof columnFields>;
/** The fields in the document of a row. */
type DocumentFields = Omit<Session, ColumnField>;

/** A new field of a session needs a column or a default: the compiler requires one of them. */
const defaults: DefaultsOf<DocumentFields, "name" | "key" | "agentContextId" | "conversationContextId"> = {
  nameIsSet: false,
  description: "",
  labels: [],
  category: null,
  rating: null,
  model: null,
  settings: {},
  otherRepos: [],
  defaultLanguage: null,
  metadata: {},
  pins: [],
  turnNames: [],
};

export function sessionToRow(session: Session): SessionRow {
  const { id, orgId, userId, isPublic, isDraft, workspaceId, ...afterAccess } = session;
  const { repo, originTurnId, headTurnId, ...afterHead } = afterAccess;
  const { lastSequence, lastTurnStatus, lastTurnAt, tokensTotal, costUsd, ...afterTurns } = afterHead;
  const { createdAt, updatedAt, activeAt, archivedAt, deletedAt, ...rest } = afterTurns;
  // No column is in the document too: a change of the column alone would be lost.
  const doc: DocumentFields & { [Field in ColumnField]?: never } = rest;
  return {
    id,
    org_id: orgId,
    user_id: userId,
    is_public: isPublic ? 1 : 0,
    is_draft: isDraft ? 1 : 0,
    workspace_id: workspaceId,
    repo,
    origin_turn_id: originTurnId,
    head_turn_id: headTurnId,
    last_sequence: lastSequence,
    last_turn_status: lastTurnStatus,
    last_turn_at: lastTurnAt,
    tokens_total: tokensTotal,
    cost_usd: costUsd,
    created_at: createdAt,
    updated_at: updatedAt,
    active_at: activeAt,
    archived_at: archivedAt,
    deleted_at: deletedAt,
    folded_name: foldedText(storableText(session.name)),
    folded_details: foldedText(storableText(detailsOf(session))),
    doc: leanJson(doc, defaults),
  };
}

export function rowToSession(row: SessionRow): Session {
  const rest = fullJson<DocumentFields>(row.doc, defaults);
  return { ...columnFields(row), ...rest, name: storedName(rest.name, row.id) };
}

/** Returns the fields of a session that have a column of their own, so that the store can sort, find or change by them. */
function columnFields(row: SessionRow) {
  return {
    id: row.id,
    orgId: row.org_id,
    userId: row.user_id,
    isPublic: row.is_public === 1,
    isDraft: row.is_draft === 1,
    workspaceId: row.workspace_id,
    repo: row.repo,
    originTurnId: row.origin_turn_id,
    headTurnId: row.head_turn_id,
    lastSequence: row.last_sequence,
    lastTurnStatus: row.last_turn_status,
    lastTurnAt: row.last_turn_at,
    tokensTotal: row.tokens_total,
    costUsd: row.cost_usd,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    activeAt: row.active_at,
    archivedAt: row.archived_at,
    deletedAt: row.deleted_at,
  };
}

/** Returns the later of the session's `active_at` and the new time: activity never goes back (S7). */
export function laterActivity(at: number): PlainSql {
  return plain`case when active_at < ${at} then ${at} else active_at end`;
}

/** Converts a turn to a row, and back, for every member of the union (T3). There are many rows, so they repeat nothing. */
import { isDeepStrictEqual } from "node:util";
import type { Kysely } from "kysely";
import type { ContextManifest } from "../../../domain/context.ts";
import type { ProviderChain, Turn, TurnBlobs, TurnStatus } from "../../../domain/turn.ts";
import type { RunSummary } from "../../../domain/usage.ts";
import { fullJson, leanJson, type DefaultsOf } from "./lean-json.ts";
import { plain, runPlain, type Placeholders } from "../plain/plain-sql.ts";
import type { Tables, TurnRow } from "../tables.ts";
import type { TurnEnds } from "../ends/turn-ends.ts";

type ColumnField = keyof ReturnType<typeof columnFields>;
type LeaseField = "runnerId" | "leaseExpiresAt";
/** The fields in the document of a row with this status. */
type DocumentFields<Status extends TurnStatus> = Omit<
  Extract<Turn, { status: Status }>,
  ColumnField | LeaseField | "historyKey" | "hiddenAt"
>;

/** The fields that every row of their status has. A new field needs a default, a column, or to be optional. */
type StoredField = "provider" | "model" | "instructionSummary" | "statusAt" | OutcomeField;
type OutcomeField = "answerSummary" | "deferredCalls" | "failures" | "was";

const manifestDefaults: DefaultsOf<ContextManifest, "promptHash" | "toolsHash" | "history" | "historyTurns"> = {
  agentContext: { id: "default" },
  conversationContext: { id: "default" },
  settings: {},
  chunks: [],
  activeFiles: [],
  skippedFiles: [],
};
const blobDefaults: DefaultsOf<TurnBlobs, "opening"> = { run: null, state: null };
const chainDefaults: DefaultsOf<ProviderChain> = {
  account: null,
  responseId: null,
  previousResponseId: null,
  expiresAt: null,
};
const runDefaults: DefaultsOf<RunSummary, "durationMs" | "modelRequests" | "byModel"> = {
  usage: { cached: 0, reasoning: 0 },
};

const pendingDefaults: DefaultsOf<DocumentFields<"pending">, StoredField> = {
  spawnedBy: null,
  rerunOf: null,
  mode: "ask",
  workspaceId: null,
  repo: null,
  manifest: manifestDefaults,
  blobs: blobDefaults,
  warnings: [],
};
const finishedDefaults = { ...pendingDefaults, answeredAt: null, digest: null, chain: chainDefaults, run: runDefaults };
const defaults: { [Status in TurnStatus]: DefaultsOf<DocumentFields<Status>, StoredField> } = {
  pending: pendingDefaults,
  completed: { ...finishedDefaults, stopReason: "stop", finalMessage: null },
  awaiting_tool_results: { ...finishedDefaults, stopReason: "tool_calls", finalMessage: null },
  failed: finishedDefaults,
  archived: finishedDefaults,
};

export function turnToRow(turn: Turn): TurnRow {
  const { runnerId, leaseExpiresAt, ...stored } =
    turn.status === "pending" ? turn : { ...turn, runnerId: null, leaseExpiresAt: null };
  const { id, sessionId, parentId, sequence, depth, kind, status, createdBy, createdAt, ...rest } = stored;
  const run = "run" in rest ? { run: withoutOnlyModel(rest.run, turn.model) } : {};
  const { historyKey = null, hiddenAt = null, ...stays } = { historyKey: undefined, hiddenAt: undefined, ...rest };
  const doc = { ...stays, ...run, blobs: mapKeys(turn.blobs, (key) => shortKey(id, key)) };
  return {
    id,
    session_id: sessionId,
    parent_id: parentId,
    sequence,
    depth,
    kind,
    status,
    created_by: createdBy,
    created_at: createdAt,
    runner_id: runnerId,
    lease_expires_at: leaseExpiresAt,
    subagent_id: turn.subagent?.id ?? null,
    history_key: historyKey,
    hidden_at: hiddenAt,
    doc: leanJson(doc, defaults[status]),
  };
}

export function rowToTurn(row: TurnRow, ends: Pick<TurnEnds, "docOf">): Turn {
  const lease = row.status === "pending" ? { runnerId: row.runner_id, leaseExpiresAt: row.lease_expires_at } : {};
  const doc = fullJson<Pick<Turn, "blobs" | "model"> & { run?: ShortRun }>(ends.docOf(row), defaults[row.status]);
  const run = doc.run === undefined ? {} : { run: withOnlyModel(doc.run, doc.model) };
  const historyKey = row.history_key === null ? {} : { historyKey: row.history_key };
  const hiddenAt = row.hidden_at === null ? {} : { hiddenAt: row.hidden_at };
  const blobs = mapKeys(doc.blobs, (key) => fullKey(row.id, key));
  return { ...doc, ...columnFields(row), ...lease, ...run, ...historyKey, ...hiddenAt, blobs } as Turn;
}

/** Returns the fields of every turn that have a column of their own. */
function columnFields(row: TurnRow) {
  return {
    id: row.id,
    sessionId: row.session_id,
    parentId: row.parent_id,
    sequence: row.sequence,
    depth: row.depth,
    kind: row.kind,
    status: row.status,
    createdBy: row.created_by,
    createdAt: row.created_at,
  };
}

/** A run summary without `byModel` where that only repeats `usage`: most runs call one model, the turn's own. */
type ShortRun = Omit<RunSummary, "byModel"> & Partial<RunSummary>;

function withoutOnlyModel(run: RunSummary, model: string): ShortRun {
  const { byModel, ...rest } = run;
  return isDeepStrictEqual(byModel, { [model]: run.usage }) ? rest : run;
}

function withOnlyModel(run: ShortRun, model: string): RunSummary {
  return { byModel: { [model]: { ...run.usage } }, ...run };
}

/** Shortens the key of a blob in the turn's own folder to `./run.json`, for example. No full key begins with a dot and a slash. */
export function shortKey(turnId: string, key: string): string {
  const folder = `turns/${turnId}/`;
  return key.startsWith(folder) ? `./${key.slice(folder.length)}` : key;
}

export function fullKey(turnId: string, key: string): string {
  return key.startsWith("./") ? `turns/${turnId}/${key.slice(2)}` : key;
}

function mapKeys({ opening, run, state }: TurnBlobs, map: (key: string) => string): TurnBlobs {
  return { opening: map(opening), run: run === null ? null : map(run), state: state === null ? null : map(state) };
}

export async function selectTurn(
  db: Kysely<Tables>,
  dialect: Placeholders & { ends: Pick<TurnEnds, "docOf"> },
  id: string,
): Promise<Turn | null> {
  const { rows } = await runPlain<TurnRow>(db, dialect, plain`select * from turns where id = ${id}`);
  return rows[0] === undefined ? null : rowToTurn(rows[0], dialect.ends);
}

/** Returns the last turn of each of these sessions that has one. */
export async function selectLastTurns(
  db: Kysely<Tables>,
  { ends }: { ends: Pick<TurnEnds, "docOf"> },
  sessionIds: readonly string[],
): Promise<Turn[]> {
  const rows = await db
    .selectFrom("sessions as s")
    .innerJoin("turns as t", (join) =>
      join.onRef("t.session_id", "=", "s.id").onRef("t.sequence", "=", "s.last_sequence"),
    )
    .where("s.id", "in", sessionIds)
    .selectAll("t")
    .execute();
  return rows.map((row) => rowToTurn(row, ends));
}

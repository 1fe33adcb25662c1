/** Converts a turn to a row, and back, for every member of the union (T3). There are many rows, so they repeat nothing. */
import { isDeepStrictEqual } from "node:util";
import type { Kysely } from "kysely";
import type { Turn, TurnBlobs } from "../../../domain/turn.ts";
import type { RunSummary } from "../../../domain/usage.ts";
import { fullJson, leanJson, type DefaultFields } from "./lean-json.ts";
import type { Tables, TurnRow } from "../tables.ts";

const defaultsOfAll = {
  spawnedBy: null,
  rerunOf: null,
  mode: "ask",
  workspaceId: null,
  repo: null,
  manifest: {
    agentContext: { id: "default" },
    conversationContext: { id: "default" },
    settings: {},
    chunks: [],
    activeFiles: [],
    skippedFiles: [],
  },
  blobs: { run: null, state: null },
  warnings: [],
};
const defaultsOfFinished = {
  ...defaultsOfAll,
  answeredAt: null,
  digest: null,
  chain: { account: null, responseId: null, previousResponseId: null, expiresAt: null },
  run: { usage: { cached: 0, reasoning: 0 } },
};
const defaults: Record<Turn["status"], DefaultFields> = {
  pending: defaultsOfAll,
  completed: { ...defaultsOfFinished, stopReason: "stop", finalMessage: null },
  awaiting_tool_results: { ...defaultsOfFinished, stopReason: "tool_calls", finalMessage: null },
  failed: defaultsOfFinished,
  archived: defaultsOfFinished,
};

export function turnToRow(turn: Turn): TurnRow {
  const { runnerId, leaseExpiresAt, ...stored } =
    turn.status === "pending" ? turn : { ...turn, runnerId: null, leaseExpiresAt: null };
  const { id, sessionId, parentId, sequence, depth, kind, status, createdBy, createdAt, ...rest } = stored;
  const run = "run" in rest ? { run: withoutOnlyModel(rest.run, turn.model) } : {};
  const doc = { ...rest, ...run, blobs: mapKeys(turn.blobs, (key) => shortKey(id, key)) };
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
    doc: leanJson(doc, defaults[status]),
  };
}

export function rowToTurn(row: TurnRow): Turn {
  const columns = {
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
  const lease = row.status === "pending" ? { runnerId: row.runner_id, leaseExpiresAt: row.lease_expires_at } : {};
  const doc = fullJson(row.doc, defaults[row.status]) as unknown as Pick<Turn, "blobs" | "model"> & { run?: ShortRun };
  const run = doc.run === undefined ? {} : { run: withOnlyModel(doc.run, doc.model) };
  const blobs = mapKeys(doc.blobs, (key) => fullKey(row.id, key));
  return { ...doc, ...columns, ...lease, ...run, blobs } as unknown as Turn;
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
function shortKey(turnId: string, key: string): string {
  const folder = `turns/${turnId}/`;
  return key.startsWith(folder) ? `./${key.slice(folder.length)}` : key;
}

function fullKey(turnId: string, key: string): string {
  return key.startsWith("./") ? `turns/${turnId}/${key.slice(2)}` : key;
}

function mapKeys({ opening, run, state }: TurnBlobs, map: (key: string) => string): TurnBlobs {
  return { opening: map(opening), run: run === null ? null : map(run), state: state === null ? null : map(state) };
}

export async function selectTurn(db: Kysely<Tables>, id: string): Promise<Turn | null> {
  const row = await db.selectFrom("turns").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : rowToTurn(row);
}

/**
 * Plans where the content of a checked file goes, beside what is already stored. Throws if the two contradict each
 * other. Writes nothing.
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { storedName } from "../../domain/given-name.ts";
import { sha256 } from "../../domain/ids.ts";
import type { Session } from "../../domain/session.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ImportedRecords, SessionGrowth } from "../../records/record-store.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { mayContinue, visibleTurn, maySee } from "../access/visible.ts";
import { turnDigest } from "../turn/kept/turn-digest.ts";
import type { CheckedExport, FileTurn } from "./check-file.ts";
import { outcomeOf, type AncestorTurn, type NamedTurn } from "./check-turn.ts";
import type { ExportedSession } from "./format.ts";
import { importedMail } from "./imported-mail.ts";
import type { FileSummary } from "./summary-lines.ts";

/** Returns a stored turn that the caller may see and continue, with its ancestors. Null if there is none (H4, T6). */
export async function findStored(core: EngineCore, caller: Caller, id: string): Promise<NamedTurn | null> {
  const turn = await seenTurn(core, caller, id);
  if (turn === null || turn.status === "pending") return null;
  const outcome = outcomeOf(turn);
  if (turn.blobs.state === null) return null;
  const subagentId = turn.subagent?.id ?? null;
  const common = { digest: null, outcome: "completed", hasHistory: true, subagentId } as const;
  let parent: AncestorTurn | null = null;
  for (const entry of (await core.histories.state(turn.parentId)).entries) {
    parent = { ...common, id: entry.turnId, depth: entry.depth, parent };
  }
  const { sessionId, depth, digest } = turn;
  return { id: turn.id, sessionId, depth, parent, digest, outcome, hasHistory: true, subagentId };
}

async function seenTurn({ deps }: EngineCore, caller: Caller, id: string): Promise<Turn | null> {
  try {
    return await visibleTurn(deps, caller, id);
  } catch (error) {
    if (error instanceof AptoveError && error.code === "not_found") return null;
    throw error;
  }
}

export interface ImportPlan extends Required<Pick<ImportedRecords, "sessions" | "growths" | "parents" | "mail">> {
  /** The summaries that are not stored yet (M5). */
  summaries: FileSummary[];
  /** The turns that are not stored yet, parents before children. */
  turns: FileTurn[];
}

/** Plans the import. Throws `import_conflict`, `session_busy`, `session_archived`. */
export async function planImport(core: EngineCore, caller: Caller, file: CheckedExport): Promise<ImportPlan> {
  const stored = new Set(await core.deps.records.purges.existingTurnIds([...file.turns.keys()]));
  for (const id of stored) await checkSame(core, caller, { file, id });
  const turns = [...file.turns.values()].filter((turn) => !stored.has(turn.id));
  const restOn = turns.flatMap((turn) => (turn.parentId !== null && stored.has(turn.parentId) ? [turn.parentId] : []));
  const parents = [...new Set([...file.outside, ...restOn])];
  const plan: ImportPlan = { turns, parents, sessions: [], growths: [], mail: [], summaries: [] };
  for (const session of file.sessions.values()) {
    const news = turns.filter((turn) => turn.sessionId === session.id);
    const here = await core.deps.records.sessions.get(session.id);
    // What the caller may not see gets one answer, whatever it is and whatever it contains (H4).
    // A fork of a session that became private may still come with the turns that it took from there.
    const isChanged = here !== null && (here.orgId !== caller.orgId || news.length > 0);
    if (isChanged && !(await maySee(core.deps, caller, here))) throw unusableIds();
    if (here === null && (await isTurnElsewhere(core, session.id))) {
      if ((await seenTurn(core, caller, session.id)) === null) throw unusableIds();
      throw conflict(`the id of the session ${session.id} is already that of a turn here`);
    } else if (here === null) plan.sessions.push(newSession(caller, session, news));
    else if (news.length > 0) plan.growths.push(await growthOf(core, caller, { here, session, news, file }));
  }
  const touched = [...plan.sessions.map(({ id }) => id), ...plan.growths.map(({ sessionId }) => sessionId)];
  const summaries = await newSummaries(core, caller, { file, created: new Set(plan.sessions.map(({ id }) => id)) });
  // The stored turns that summaries end at must exist until the summaries are stored.
  const ends = summaries.flatMap(({ throughTurnId }) => (stored.has(throughTurnId) ? [throughTurnId] : []));
  plan.parents = [...new Set([...parents, ...ends])];
  return { ...plan, summaries, mail: importedMail(file, new Set(touched)) };
}

/**
 * Returns the summaries that are not stored here, of new sessions and of those that the caller may continue. A session of
 * another user does not change by an import of turns that it has (H4).
 */
async function newSummaries(
  { deps }: EngineCore,
  caller: Caller,
  { file, created }: { file: CheckedExport; created: ReadonlySet<string> },
): Promise<FileSummary[]> {
  const found: FileSummary[] = [];
  for (const summary of file.summaries.values()) {
    if ((await deps.records.summaries.get(summary.id)) !== null) continue;
    const here = created.has(summary.sessionId) ? null : await deps.records.sessions.get(summary.sessionId);
    const isOpen = here !== null && here.deletedAt === null && (await mayContinue(deps, caller, here));
    if (created.has(summary.sessionId) || isOpen) found.push(summary);
  }
  return found;
}

/** Returns true if the id belongs to a turn. The session's first turn would need that id (S4). */
async function isTurnElsewhere({ deps }: EngineCore, id: string): Promise<boolean> {
  const turn = await deps.records.turns.get(id);
  return turn !== null && turn.sessionId !== id;
}

/**
 * The answer for ids that are in use where the caller may not see it: it names neither a session nor a turn. That something
 * has such an id cannot be hidden, because the ids are part of the digests and cannot be replaced.
 */
function unusableIds(): AptoveError {
  return conflict("an id in the file cannot be used here");
}

function conflict(detail: string): AptoveError {
  return new AptoveError("import_conflict", `${detail}; nothing was imported`);
}

/** Throws unless a stored turn is identical to the one in the file, to the last byte. */
async function checkSame(
  core: EngineCore,
  caller: Caller,
  { file, id }: { file: CheckedExport; id: string },
): Promise<void> {
  const ours = await core.deps.records.turns.get(id);
  const theirs = file.turns.get(id);
  if (ours === null || theirs === undefined) return;
  if (ours.sessionId === theirs.sessionId && (await hasContent(core, ours, theirs))) return;
  if ((await seenTurn(core, caller, id)) === null) throw unusableIds();
  throw conflict(`the turn ${id} is already stored with another content`);
}

/**
 * Returns true if both turns have the same content. Their digests are compared; for a turn that was never sealed the
 * digest is computed.
 */
async function hasContent({ deps }: EngineCore, ours: Turn, theirs: FileTurn): Promise<boolean> {
  if (ours.status === "pending" || ours.digest !== theirs.digest) return false;
  if (ours.digest !== null) return true;
  const hashOf = async (key: string): Promise<string> => sha256((await deps.blobs.get(key)) ?? "");
  const { opening, run, state } = ours.blobs;
  const digest = turnDigest(ours, {
    parent: theirs.parent?.digest ?? null,
    steps: await deps.records.turns.listSteps(ours.id),
    hashes: {
      opening: await hashOf(opening),
      run: run === null ? null : await hashOf(run),
      state: state === null ? null : await hashOf(state),
    },
  });
  return digest === theirs.computedDigest;
}

/** Returns a new session. It belongs to the importing caller and is private, whatever it was before (S3). */
function newSession(caller: Caller, session: ExportedSession, turns: readonly FileTurn[]): Session {
  const last = newest(turns);
  return {
    ...session,
    // An earlier version could store a blank name.
    name: storedName(session.name, session.id),
    orgId: caller.orgId,
    userId: caller.userId,
    isPublic: false,
    isDraft: false,
    workspaceId: caller.workspaceId ?? session.workspaceId,
    lastSequence: last?.sequence ?? 0,
    lastTurnStatus: last?.status ?? null,
    lastTurnAt: last?.statusAt ?? null,
    tokensTotal: sumOf(turns, "tokens"),
    costUsd: sumOf(turns, "costUsd"),
    activeAt: Math.max(session.createdAt, ...turns.map((turn) => turn.statusAt)),
    deletedAt: null,
  };
}

function newest(turns: readonly FileTurn[]): FileTurn | undefined {
  return turns.toSorted((a, b) => b.sequence - a.sequence)[0];
}

function sumOf(turns: readonly FileTurn[], what: "tokens" | "costUsd"): number {
  return turns.reduce((sum, turn) => sum + turn[what], 0);
}

interface Growing {
  here: Session;
  session: ExportedSession;
  news: FileTurn[];
  file: CheckedExport;
}

/**
 * Plans the growth of a stored session of which the file has more turns, for example because it continued elsewhere.
 */
async function growthOf(core: EngineCore, caller: Caller, growing: Growing): Promise<SessionGrowth> {
  const { here, news } = growing;
  if (here.deletedAt !== null) throw conflict(`the session ${here.id} was removed here; restore it first`);
  if (!(await mayContinue(core.deps, caller, here))) {
    throw conflict(`the session ${here.id} belongs to another user here, and the file adds turns to it`);
  }
  if (here.originTurnId !== growing.session.originTurnId) {
    throw conflict(`the session ${here.id} begins below another turn here`);
  }
  if (here.archivedAt !== null) throw new AptoveError("session_archived", `unarchive the session ${here.id} first`);
  const running = await core.deps.records.turns.findPending(here.id);
  if (running !== null) {
    throw new AptoveError("session_busy", `turn ${running.id} is running; wait for it or interrupt it`, {
      facts: { turnId: running.id },
    });
  }
  for (const { sequence } of news) {
    const [taken] = await core.deps.records.turns.list(here.id, { before: sequence + 1, limit: 1 });
    if (taken?.sequence !== sequence) continue;
    throw conflict(`the session ${here.id} continued differently here: turn ${sequence} is ${taken.id}`);
  }
  const last = newest(news);
  const isNewer = last !== undefined && last.sequence > here.lastSequence;
  return {
    sessionId: here.id,
    seen: { lastSequence: here.lastSequence, headTurnId: here.headTurnId },
    headTurnId: headAfter(growing),
    lastSequence: isNewer ? last.sequence : here.lastSequence,
    lastTurnStatus: isNewer ? last.status : here.lastTurnStatus,
    lastTurnAt: isNewer ? last.statusAt : here.lastTurnAt,
    activeAt: Math.max(here.activeAt, ...news.map((turn) => turn.statusAt)),
    tokens: sumOf(news, "tokens"),
    costUsd: sumOf(news, "costUsd"),
  };
}

/** Returns the head of the file if it is below the stored head. Otherwise the stored head is kept (S5). */
function headAfter({ here, session, file }: Growing): string | null {
  if (here.headTurnId === null || session.headTurnId === null) return here.headTurnId ?? session.headTurnId;
  let at: AncestorTurn | null = file.turns.get(session.headTurnId) ?? null;
  while (at !== null && at.id !== here.headTurnId) at = at.parent;
  return at === null ? here.headTurnId : session.headTurnId;
}

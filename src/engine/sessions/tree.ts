/** Changes whole sessions and moves heads, and searches (S5, S6, S8, T6). */
import type { AuditAction } from "../../domain/audit.ts";
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { Session } from "../../domain/session.ts";
import { mayBeParent, type ArchivedTurn, type FailedTurn } from "../../domain/turn.ts";
import type { SessionChange } from "../../records/record-store.ts";
import { scopeOf } from "../access/access.ts";
import { audited } from "../access/audit.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import type { SessionTree, UndoReport } from "../engine.ts";
import { forest } from "./forest.ts";
import { graph } from "./graph.ts";
import { deleteGarbage, notRemoved, purge, type RemovedSession } from "./purging.ts";
import { searchSessions } from "./search.ts";
import { mayWrite, isTheirs, changeableSession, visibleTurn, maySee, visibleSession } from "../access/visible.ts";

export function tree(core: EngineCore): SessionTree {
  const noted = <T>(action: AuditAction, act: (caller: Caller, id: string) => Promise<T>) => {
    return (caller: Caller, id: string) =>
      audited(core.deps, { by: caller, action, target: id }, () => act(caller, id));
  };
  const mark = (action: AuditAction, marks: () => SessionChange) =>
    noted(action, (caller, id) => markSession(core, caller, { id, marks: marks() }));
  const now = (): number => core.deps.now();
  return {
    moveHead: (caller, move) => moveHead(core, caller, move),
    headMoves: async (caller, sessionId) => {
      await visibleSession(core.deps, caller, sessionId);
      return await core.deps.records.sessions.listHeadMoves(sessionId);
    },
    undo: (caller, sessionId) => undo(core, caller, sessionId),
    archiveTurn: (caller, turnId) => archiveTurn(core, caller, turnId),
    hideTurn: (caller, turnId) => hideTurn(core, caller, turnId),
    archive: mark("session.archive", () => ({ archivedAt: now() })),
    unarchive: mark("session.unarchive", () => ({ archivedAt: null })),
    remove: mark("session.remove", () => ({ deletedAt: now() })),
    restore: noted("session.restore", (caller, id) => restore(core, caller, id)),
    listRemoved: (caller) => core.deps.records.sessions.listDeleted({ ...scopeOf(caller), limit: limits.pageSizeMax }),
    purge: noted("session.purge", async (caller, id) => purge(core, await removedSession(core, caller, id))),
    collectGarbage: (caller, options) =>
      options.dryRun
        ? deleteGarbage(core, caller, options)
        : audited(core.deps, { by: caller, action: "garbage.collect" }, () => deleteGarbage(core, caller, options)),
    search: (caller, query) => searchSessions(core, caller, query),
    graph: (caller, id, page) => graph(core, caller, { id, ...page }),
    forest: (caller, request) => forest(core, caller, request),
  };
}

/** The place of the head: a turn, or null for none. */
interface HeadPath {
  sessionId: string;
  from: string | null;
  to: string | null;
}

async function moveHead(core: EngineCore, caller: Caller, path: HeadPath & { to: string }): Promise<Session> {
  const { sessionId, to } = path;
  await changeableSession(core.deps, caller, sessionId);
  const turn = await visibleTurn(core.deps, caller, to);
  if (turn.sessionId !== sessionId || !mayBeParent(turn)) {
    const why = turn.sessionId === sessionId ? `is ${turn.status}` : "belongs to another session; fork it instead";
    throw new AptoveError("turn_not_continuable", `turn ${to} ${why}`, { facts: { turnId: to } });
  }
  return await carryOutMove(core, caller, path);
}

/**
 * Moves the head back to before the newest turn of the session's agent (T12). A turn that did nothing is not in the
 * history, so the head stays. If the newest turn was undone before, the head moves further back.
 */
async function undo(core: EngineCore, caller: Caller, sessionId: string): Promise<UndoReport> {
  const { records } = core.deps;
  const { headTurnId: from } = await changeableSession(core.deps, caller, sessionId);
  const move = async (to: string | null) => await carryOutMove(core, caller, { sessionId, from, to });
  const [newest] = await records.turns.list(sessionId, { limit: 1, kind: "agent" });
  if (newest?.status === "pending") {
    throw new AptoveError("session_busy", `turn ${newest.id} is running; wait for it or interrupt it`, {
      facts: { turnId: newest.id },
    });
  }
  if (newest !== undefined && newest.status === "failed" && !mayBeParent(newest) && !(await wasLeft(core, newest))) {
    // The head stays, but the move is recorded, so that the next undo goes further back.
    return { session: await move(from), undoneTurnId: newest.id };
  }
  const head = from === null ? null : await records.turns.get(from);
  const before = head === null || head.parentId === null ? null : await records.turns.get(head.parentId);
  if (from === null) return { session: await visibleSession(core.deps, caller, sessionId), undoneTurnId: null };
  // The first turn of a fork continues a turn of another session. Without a head the fork begins there again.
  const to = before?.sessionId === sessionId ? before.id : null;
  return { session: await move(to), undoneTurnId: from };
}

/** Returns whether a user moved the head after the turn ended, which an undo of the turn does too. */
async function wasLeft({ deps }: EngineCore, { sessionId, statusAt }: FailedTurn): Promise<boolean> {
  const moves = await deps.records.sessions.listHeadMoves(sessionId);
  return moves.some(({ at }) => at > statusAt);
}

async function carryOutMove(core: EngineCore, caller: Caller, { sessionId, from, to }: HeadPath): Promise<Session> {
  const move = { sessionId, from, to, userId: caller.userId, at: core.deps.now() };
  const result = await core.deps.records.sessions.moveHead(move);
  switch (result.outcome) {
    case "moved":
      return await visibleSession(core.deps, caller, sessionId);
    case "head_moved":
      throw new AptoveError("head_moved", `the head is now ${result.headTurnId ?? "not set"}; read it and try again`, {
        facts: { headTurnId: result.headTurnId },
      });
    case "busy":
      throw new AptoveError("session_busy", `turn ${result.runningTurnId} is running; wait for it or interrupt it`, {
        facts: { turnId: result.runningTurnId },
      });
    case "archived":
      throw new AptoveError("session_archived", "unarchive the session first");
    case "missing":
      throw new AptoveError("not_found", `there is no session "${sessionId}"`);
  }
}

const needs = {
  head: "is the head of a session; move the head to another turn first",
  fork: "is where a fork begins",
  turn: "is continued by another turn; archive that one first",
};

async function archiveTurn(core: EngineCore, caller: Caller, turnId: string): Promise<ArchivedTurn> {
  mayWrite(caller);
  const { sessionId, kind } = await visibleTurn(core.deps, caller, turnId);
  await changeableSession(core.deps, caller, sessionId);
  const facts = { turnId };
  if (kind !== "agent") {
    throw new AptoveError("turn_in_use", `turn ${turnId} belongs to a subagent, whose session keeps it`, { facts });
  }
  const result = await core.deps.records.turns.archive({ turnId, at: core.deps.now() });
  switch (result.outcome) {
    case "archived":
      return result.turn;
    case "needed":
      throw new AptoveError("turn_in_use", `turn ${turnId} ${needs[result.by]}`, { facts });
    case "pending":
      throw new AptoveError("turn_not_finished", `turn ${turnId} is running; wait for it or interrupt it`, { facts });
    case "missing":
      throw new AptoveError("not_found", `there is no turn "${turnId}"`);
  }
}

async function hideTurn(core: EngineCore, caller: Caller, turnId: string): Promise<void> {
  mayWrite(caller);
  const { sessionId, status } = await visibleTurn(core.deps, caller, turnId);
  await changeableSession(core.deps, caller, sessionId);
  const hiding = { turnId, at: core.deps.now() };
  if (status === "pending" || !(await core.deps.records.turns.hide(hiding))) {
    const detail = `turn ${turnId} is running; wait for it or interrupt it`;
    throw new AptoveError("turn_not_finished", detail, { facts: { turnId } });
  }
  await core.deps.records.turns.archive(hiding);
}

interface Marking {
  id: string;
  marks: SessionChange;
}

async function markSession(core: EngineCore, caller: Caller, { id, marks }: Marking): Promise<Session> {
  await changeableSession(core.deps, caller, id);
  const marked = await core.deps.records.sessions.update(id, marks, core.deps.now());
  if (marked === null) throw new AptoveError("not_found", `there is no session "${id}"`);
  return marked;
}

/** Returns a removed session that the caller may change. Throws `not_found` for any other. */
async function removedSession(core: EngineCore, caller: Caller, id: string): Promise<RemovedSession> {
  mayWrite(caller);
  const session = isId(id) ? await core.deps.records.sessions.get(id) : null;
  const removedAt = session?.deletedAt ?? null;
  if (session === null || removedAt === null || !(await maySee(core.deps, caller, session))) throw notRemoved(id);
  if (!isTheirs(caller, session)) throw notRemoved(id);
  return { ...session, deletedAt: removedAt };
}

async function restore(core: EngineCore, caller: Caller, id: string): Promise<Session> {
  const session = await removedSession(core, caller, id);
  const restored = await core.deps.records.sessions.update(session.id, { deletedAt: null }, core.deps.now());
  return restored ?? session;
}

/** Turns and their steps in memory. */
import { isDeepStrictEqual } from "node:util";
import type { Step } from "../../domain/step.ts";
import { archiveTurn, mayBeParent, type PendingTurn, type Turn } from "../../domain/turn.ts";
import {
  foundByHistoryMax,
  type ArchiveResult,
  type FinishResult,
  type OpenResult,
  type TurnArchival,
  type TurnFinish,
  type TurnOpening,
  type TurnRecords,
} from "../turns.ts";
import { hasBudget } from "./budgets.ts";
import { limitRefusal } from "./limits.ts";
import { assertFree, insert, isParticipant, pairKey, runningTurn, type Rows } from "./rows.ts";
import { subagentOrMailRefusal, putMessage, settleMail, takeMail } from "./subagents.ts";

export function turnRecords(rows: Rows, now: () => number): TurnRecords {
  return {
    async open(opening) {
      return openTurn(rows, opening, now());
    },
    async finish(finish) {
      return finishTurn(rows, finish);
    },
    async archive(archival) {
      return archive(rows, archival);
    },
    async hide({ turnId, at }) {
      const turn = rows.turns.get(turnId);
      if (turn === undefined || turn.status === "pending") return false;
      rows.turns.set(turnId, { hiddenAt: at, ...turn });
      return true;
    },
    async get(id) {
      return rows.turns.get(id) ?? null;
    },
    async list(sessionId, { before = Infinity, limit, kind }) {
      const turns = [...rows.turns.values()].filter((turn) => turn.sessionId === sessionId && turn.sequence < before);
      const wanted = kind === undefined ? turns : turns.filter((turn) => turn.kind === kind);
      return wanted.toSorted((a, b) => b.sequence - a.sequence).slice(0, limit);
    },
    async listLast(sessionIds) {
      const wanted = new Set(sessionIds);
      const isLast = ({ sessionId, sequence }: Turn): boolean =>
        wanted.has(sessionId) && rows.sessions.get(sessionId)?.lastSequence === sequence;
      return [...rows.turns.values()].filter(isLast);
    },
    async findPending(sessionId) {
      return runningTurn(rows, sessionId);
    },
    async listPending() {
      const all = [...rows.turns.values()].filter((turn) => turn.status === "pending");
      return all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    },
    async findIdempotent(userId, key) {
      return rows.idempotency.get(pairKey(userId, key)) ?? null;
    },
    async keepIdempotent(request) {
      const key = pairKey(request.userId, request.key);
      if (!rows.idempotency.has(key)) rows.idempotency.set(key, request);
    },
    async findByHistory(author, keys) {
      const wanted = new Set(keys);
      return [...rows.turns.values()]
        .filter((turn) => turn.createdBy === author && "historyKey" in turn && wanted.has(turn.historyKey ?? ""))
        .toSorted((one, other) => other.createdAt - one.createdAt)
        .slice(0, foundByHistoryMax)
        .map((turn) => ({ turnId: turn.id, historyKey: ("historyKey" in turn && turn.historyKey) || "" }));
    },
    async insertStep(step, runnerId) {
      const turn = rows.turns.get(step.turnId);
      if (turn?.status !== "pending" || turn.runnerId !== runnerId) return false;
      const isRepeated = isDeepStrictEqual(rows.steps.get(pairKey(step.turnId, step.index)), step);
      if (!isRepeated) insertSteps(rows, [step]);
      return true;
    },
    async listSteps(turnId) {
      return stepsOf(rows, turnId);
    },
  };
}

function openTurn(rows: Rows, opening: TurnOpening, now: number): OpenResult {
  const { turn: draft, newSession, expectedHead, idempotency, leaseMs } = opening;
  const earlier = idempotency === null ? undefined : rows.idempotency.get(pairKey(idempotency.userId, idempotency.key));
  if (earlier !== undefined) return { outcome: "idempotent", earlier };
  const limited = limitRefusal(rows, opening);
  if (limited !== null) return limited;

  if (newSession !== null && draft.parentId !== null && !rows.turns.has(draft.parentId)) return { outcome: "missing" };
  const session = newSession ?? rows.sessions.get(draft.sessionId);
  if (session === undefined || session.deletedAt !== null) return { outcome: "missing" };
  const [sessionId, userId] = [session.id, draft.createdBy];
  if (session.userId !== userId && !isParticipant(rows, sessionId, userId)) return { outcome: "missing" };
  if (session.archivedAt !== null) return { outcome: "archived" };
  const running = draft.kind === "agent" ? runningTurn(rows, session.id) : null;
  if (running !== null) return { outcome: "busy", runningTurnId: running.id };
  const { headTurnId } = session;
  const isElsewhere = draft.subagent === undefined && headTurnId !== expectedHead;
  if (isElsewhere || rows.turns.has(draft.id)) return { outcome: "head_moved", headTurnId };
  const refusal = subagentOrMailRefusal(rows, opening);
  if (refusal !== null) return refusal;

  const turn: PendingTurn = { ...draft, sequence: session.lastSequence + 1, leaseExpiresAt: now + leaseMs };
  if (newSession !== null) insert(rows.sessions, newSession.id, newSession);
  insert(rows.turns, turn.id, turn);
  rows.participants.set(pairKey(sessionId, userId), { sessionId, userId });
  rows.sessions.set(session.id, {
    ...session,
    lastSequence: turn.sequence,
    lastTurnStatus: turn.status,
    lastTurnAt: turn.createdAt,
    activeAt: Math.max(session.activeAt, turn.createdAt),
  });
  takeMail(rows, opening);
  if (idempotency !== null) insert(rows.idempotency, pairKey(idempotency.userId, idempotency.key), idempotency);
  const budgeted = opening.budgets !== undefined && hasBudget(rows, opening.budgets);
  return { outcome: "opened", turn, hasBudget: budgeted };
}

function finishTurn(rows: Rows, finish: TurnFinish): FinishResult {
  const { turn, steps, text, runnerId, head, controls, message } = finish;
  const stored = rows.turns.get(turn.id) ?? null;
  const session = rows.sessions.get(turn.sessionId);
  if (stored?.status !== "pending" || stored.runnerId !== runnerId || session === undefined) {
    return { outcome: "refused", turn: stored };
  }
  const untaken = [...rows.controls.values()].filter((control) => control.turnId === turn.id);
  if (untaken.length > 0 && controls === "take first") return { outcome: "controlled" };
  for (const { id } of untaken) rows.controls.delete(id);
  insertSteps(rows, steps);
  if (text !== null) rows.texts.set(turn.id, text);
  rows.turns.set(turn.id, turn);
  const isNewest = session.lastSequence === turn.sequence;
  const becomesHead = head !== null && mayBeParent(turn) && session.headTurnId === head.from;
  rows.sessions.set(session.id, {
    ...session,
    headTurnId: becomesHead ? turn.id : session.headTurnId,
    lastTurnStatus: isNewest ? turn.status : session.lastTurnStatus,
    lastTurnAt: isNewest ? turn.statusAt : session.lastTurnAt,
    activeAt: Math.max(session.activeAt, turn.statusAt),
    tokensTotal: session.tokensTotal + turn.run.usage.total,
    costUsd: session.costUsd + (turn.run.usage.costUsd ?? 0),
  });
  settleMail(rows, turn);
  if (message !== undefined) putMessage(rows, { ...message, takenBy: null, deliveredAt: null });
  return { outcome: "finished" };
}

function archive(rows: Rows, { turnId, at }: TurnArchival): ArchiveResult {
  const turn = rows.turns.get(turnId);
  const session = turn === undefined ? undefined : rows.sessions.get(turn.sessionId);
  if (turn === undefined || session === undefined || turn.kind !== "agent") return { outcome: "missing" };
  if (turn.status === "archived") return { outcome: "archived", turn };
  if (turn.status === "pending") return { outcome: "pending" };
  const sessions = [...rows.sessions.values()];
  if (sessions.some(({ headTurnId }) => headTurnId === turnId)) return { outcome: "needed", by: "head" };
  if (sessions.some(({ originTurnId }) => originTurnId === turnId)) return { outcome: "needed", by: "fork" };
  const isContinued = [...rows.turns.values()].some((each) => each.parentId === turnId && each.status !== "archived");
  if (isContinued) return { outcome: "needed", by: "turn" };
  const archived = archiveTurn(turn, at);
  rows.turns.set(turnId, archived);
  if (session.lastSequence === turn.sequence) {
    rows.sessions.set(session.id, { ...session, lastTurnStatus: archived.status });
  }
  return { outcome: "archived", turn: archived };
}

/** Inserts all of the steps, or throws and inserts none if one of them exists already. */
export function insertSteps(rows: Rows, steps: readonly Step[]): void {
  const keyed = steps.map((step) => [pairKey(step.turnId, step.index), step] as const);
  for (const [key] of keyed) assertFree(rows.steps, key);
  for (const [key, step] of keyed) insert(rows.steps, key, step);
}

export function stepsOf(rows: Rows, turnId: string): Step[] {
  const steps = [...rows.steps.values()].filter((step) => step.turnId === turnId);
  return steps.toSorted((a, b) => a.index - b.index);
}

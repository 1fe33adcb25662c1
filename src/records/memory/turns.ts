/** Turns in memory. */
import { mayBeParent, type PendingTurn, type Turn } from "../../domain/turn.ts";
import type { FinishResult, OpenResult, RecordStore, TurnFinish, TurnOpening } from "../record-store.ts";
import { besideRefusal, putMessage, settleMail, takeMail } from "./mailbox.ts";
import { limitRefusal } from "./limits.ts";
import { insert, pairKey, type Rows } from "./rows.ts";
import { insertSteps } from "./runs.ts";

type TurnRecords = Pick<
  RecordStore,
  | "openTurn"
  | "finishTurn"
  | "getTurn"
  | "listTurns"
  | "pendingTurn"
  | "pendingTurns"
  | "tookPart"
  | "listParticipants"
  | "changeParticipants"
  | "findIdempotent"
  | "renewLeases"
  | "takeLostTurns"
>;

export function turnRecords(rows: Rows, now: () => number): TurnRecords {
  return {
    async openTurn(opening) {
      return openTurn(rows, opening, now());
    },
    async finishTurn(finish) {
      return finishTurn(rows, finish);
    },
    async getTurn(id) {
      return rows.turns.get(id) ?? null;
    },
    async listTurns(sessionId, { before = Infinity, limit, kind }) {
      const turns = [...rows.turns.values()].filter((turn) => turn.sessionId === sessionId && turn.sequence < before);
      const wanted = kind === undefined ? turns : turns.filter((turn) => turn.kind === kind);
      return wanted.toSorted((a, b) => b.sequence - a.sequence).slice(0, limit);
    },
    async pendingTurn(sessionId) {
      return runningTurn(rows, sessionId);
    },
    async pendingTurns() {
      return [...rows.turns.values()].filter(isPending);
    },
    async tookPart(sessionId, userId) {
      return tookPart(rows, sessionId, userId);
    },
    async listParticipants(sessionId) {
      const all = [...rows.participants.values()].filter((one) => one.sessionId === sessionId);
      return all.map(({ userId }) => userId).toSorted();
    },
    async changeParticipants(sessionId, { invited, dismissed }) {
      if (!rows.sessions.has(sessionId)) return;
      for (const userId of invited) rows.participants.set(pairKey(sessionId, userId), { sessionId, userId });
      for (const userId of dismissed) rows.participants.delete(pairKey(sessionId, userId));
    },
    async findIdempotent(userId, key) {
      return rows.idempotency.get(pairKey(userId, key)) ?? null;
    },
    async renewLeases({ runnerId, turnIds, leaseMs }) {
      const held = turnIds.map((id) => rows.turns.get(id)).filter((turn) => turn !== undefined);
      const own = held.filter(isPending).filter((turn) => turn.runnerId === runnerId);
      for (const turn of own)
        rows.turns.set(turn.id, { ...turn, leaseExpiresAt: Math.max(turn.leaseExpiresAt, now() + leaseMs) });
      return own.map(({ id }) => id);
    },
    async takeLostTurns({ runnerId, leaseMs, deadRunnerIds, limit, turnId }) {
      const isLost = (turn: PendingTurn): boolean =>
        turn.leaseExpiresAt <= now() || deadRunnerIds.includes(turn.runnerId);
      const lost = [...rows.turns.values()].filter(isPending).filter(isLost);
      const asked = turnId === undefined ? lost : lost.filter(({ id }) => id === turnId);
      const first = asked.toSorted((a, b) => a.leaseExpiresAt - b.leaseExpiresAt || (a.id < b.id ? -1 : 1));
      const taken = first.slice(0, limit).map((turn) => ({ ...turn, runnerId, leaseExpiresAt: now() + leaseMs }));
      for (const turn of taken) rows.turns.set(turn.id, turn);
      return taken;
    },
  };
}

export function tookPart(rows: Rows, sessionId: string, userId: string): boolean {
  return rows.participants.has(pairKey(sessionId, userId));
}

export function isPending(turn: Turn): turn is PendingTurn {
  return turn.status === "pending";
}

export function runningTurn(rows: Rows, sessionId: string): PendingTurn | null {
  const pending = rows.turns.values().filter(isPending);
  return pending.find((turn) => turn.sessionId === sessionId && turn.kind === "agent") ?? null;
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
  if (session.userId !== userId && !tookPart(rows, sessionId, userId)) return { outcome: "missing" };
  if (session.archivedAt !== null) return { outcome: "archived" };
  const running = draft.kind === "agent" ? runningTurn(rows, session.id) : null;
  if (running !== null) return { outcome: "busy", runningTurnId: running.id };
  const { headTurnId } = session;
  const isElsewhere = draft.subagent === undefined && headTurnId !== expectedHead;
  if (isElsewhere || rows.turns.has(draft.id)) return { outcome: "head_moved", headTurnId };
  const refusal = besideRefusal(rows, opening);
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
  return { outcome: "opened", turn };
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

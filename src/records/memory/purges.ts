/** Purging in memory, and which turns other sessions need (S6). */
import type { Session } from "../../domain/session.ts";
import { summaryBlobs } from "../../domain/summary.ts";
import { partBlobs, type Turn } from "../../domain/turn.ts";
import { sumsOfKept, type PurgeRecords } from "../purges.ts";
import { removeBudgets } from "./budgets.ts";
import { isPending, type Rows } from "./rows.ts";
import { stepsOf } from "./turns.ts";

export function purgeRecords(rows: Rows): PurgeRecords {
  return {
    async sharedTurnIds(sessionId) {
      return [...sharedTurns(rows, sessionId)];
    },
    async purgeSession(sessionId, kept, removedAt) {
      const session = rows.sessions.get(sessionId);
      if (session === undefined) return true;
      if (removedAt !== undefined && session.deletedAt !== removedAt) return false;
      return purgeSession(rows, session, new Set(kept));
    },
    async existingTurnIds(ids) {
      return [...new Set(ids)].filter((id) => rows.turns.has(id));
    },
    async blobKeysOf(turnId) {
      const turn = rows.turns.get(turnId);
      if (turn === undefined) return [];
      const { opening, run, state } = turn.blobs;
      const requests = stepsOf(rows, turnId).map((step) => step.request.blob);
      const summaries = [...rows.summaries.values()].filter(({ summary }) => summary.throughTurnId === turnId);
      const ofSummaries = summaries.flatMap(({ summary }) => summaryBlobs(summary));
      return [...new Set([opening, run, state, ...partBlobs(turn), ...requests, ...ofSummaries])].filter(
        (key) => key !== null,
      );
    },
  };
}

function turnsOf(rows: Rows, sessionId: string): Turn[] {
  return [...rows.turns.values()].filter((turn) => turn.sessionId === sessionId);
}

function sharedTurns(rows: Rows, sessionId: string): Set<string> {
  const children = rows.turns.values().filter((turn) => turn.sessionId !== sessionId);
  const forks = rows.sessions.values().filter((session) => session.id !== sessionId);
  const needed = [...children.map((turn) => turn.parentId), ...forks.map((fork) => fork.originTurnId)];
  const shared = new Set<string>();
  for (const start of needed) {
    let turn = start === null ? undefined : rows.turns.get(start);
    while (turn?.sessionId === sessionId && !shared.has(turn.id)) {
      shared.add(turn.id);
      turn = turn.parentId === null ? undefined : rows.turns.get(turn.parentId);
    }
  }
  return shared;
}

function purgeSession(rows: Rows, session: Session, kept: ReadonlySet<string>): boolean {
  const { id: sessionId } = session;
  const turns = turnsOf(rows, sessionId);
  if (turns.some(isPending) || !sharedTurns(rows, sessionId).isSubsetOf(kept)) return false;

  const gone = turns.filter((turn) => !kept.has(turn.id)).map((turn) => turn.id);
  for (const [key, message] of rows.mailbox) if (message.sessionId === sessionId) rows.mailbox.delete(key);
  for (const [key, { summary }] of rows.summaries) {
    if (summary.sessionId === sessionId || gone.includes(summary.throughTurnId)) rows.summaries.delete(key);
  }
  for (const id of gone) removeTurn(rows, id);
  for (const [key, move] of rows.headMoves) if (move.sessionId === sessionId) rows.headMoves.delete(key);
  const left = turnsOf(rows, sessionId);
  const authors = new Set(left.map((turn) => turn.createdBy));
  for (const [key, one] of rows.participants) {
    if (one.sessionId === sessionId && !authors.has(one.userId)) rows.participants.delete(key);
  }
  if (gone.length === turns.length) {
    rows.sessions.delete(sessionId);
    removeBudgets(rows, sessionId);
  } else {
    const headTurnId = session.headTurnId !== null && gone.includes(session.headTurnId) ? null : session.headTurnId;
    rows.sessions.set(sessionId, { ...session, headTurnId, ...sumsOfKept(left) });
  }
  return true;
}

function removeTurn(rows: Rows, id: string): void {
  rows.turns.delete(id);
  rows.imported.delete(id);
  rows.texts.delete(id);
  for (const [key, step] of rows.steps) if (step.turnId === id) rows.steps.delete(key);
  for (const [key, question] of rows.questions) if (question.turnId === id) rows.questions.delete(key);
  for (const [key, request] of rows.idempotency) if (request.turnId === id) rows.idempotency.delete(key);
}

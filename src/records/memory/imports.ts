/** Imports of sessions and finished turns, in memory. */
import type { ImportedRecords, ImportedTurn, ImportRecords, ImportResult, SessionGrowth } from "../imports.ts";
import type { Rows } from "./rows.ts";
import { importMail } from "./subagents.ts";
import { importSummaries } from "./summaries.ts";
import { insertSteps } from "./turns.ts";

/** Copies the turns one after the other, because a stream of turns cannot be copied as a whole. */
export function importRecords(rows: Rows): ImportRecords {
  return {
    async insert({ turns, ...rest }) {
      const all: ImportedTurn[] = [];
      for await (const turn of turns) all.push(structuredClone(turn));
      return insertImported(rows, structuredClone(rest), all);
    },
  };
}

function insertImported(
  rows: Rows,
  { sessions, growths, parents, mail = [], summaries = [] }: Omit<ImportedRecords, "turns">,
  turns: readonly ImportedTurn[],
): ImportResult {
  const isTaken = turns.some(({ turn }) => rows.turns.has(turn.id) || hasSequence(rows, turn));
  const isKnown = sessions.some((session) => rows.sessions.has(session.id));
  const isGone = parents.some((id) => !rows.turns.has(id));
  const created = new Set(sessions.map(({ id }) => id));
  if (summaries.some(({ sessionId: id }) => !created.has(id) && !rows.sessions.has(id))) return { outcome: "changed" };
  if (isTaken || isKnown || isGone || !growths.every((growth) => isAsSeen(rows, growth))) return { outcome: "changed" };

  for (const session of sessions) rows.sessions.set(session.id, session);
  for (const { turn, steps, text } of turns) {
    rows.turns.set(turn.id, turn);
    rows.imported.set(turn.id, true);
    rows.texts.set(turn.id, text);
    insertSteps(rows, steps);
  }
  for (const growth of growths) grow(rows, growth);
  importMail(rows, mail);
  importSummaries(rows, summaries);
  return { outcome: "imported" };
}

function hasSequence(rows: Rows, { sessionId, sequence }: ImportedTurn["turn"]): boolean {
  return rows.turns.values().some((turn) => turn.sessionId === sessionId && turn.sequence === sequence);
}

function isAsSeen(rows: Rows, { sessionId, seen }: SessionGrowth): boolean {
  const session = rows.sessions.get(sessionId);
  if (session === undefined || session.archivedAt !== null || session.deletedAt !== null) return false;
  return session.lastSequence === seen.lastSequence && session.headTurnId === seen.headTurnId;
}

function grow(rows: Rows, { sessionId, seen: _seen, tokens, costUsd, activeAt, ...now }: SessionGrowth): void {
  const session = rows.sessions.get(sessionId);
  if (session === undefined) return;
  const sums = { tokensTotal: session.tokensTotal + tokens, costUsd: session.costUsd + costUsd };
  rows.sessions.set(sessionId, { ...session, ...now, ...sums, activeAt: Math.max(session.activeAt, activeAt) });
}

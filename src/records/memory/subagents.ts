/** Subagents and the mailbox in memory (A1, A2). */
import type { MailboxMessage } from "../../domain/mailbox.ts";
import { mayBeParent, type FinishedTurn, type Turn } from "../../domain/turn.ts";
import type { ImportedMessage } from "../imports.ts";
import type { SubagentRecords } from "../subagents.ts";
import type { OpenResult, TurnOpening } from "../turns.ts";
import { insert, type Rows } from "./rows.ts";

export function subagentRecords(rows: Rows): SubagentRecords {
  return {
    async listTurns(sessionId, { subagentId, limit }) {
      const turns = subagentTurnsOf(rows, sessionId);
      const wanted = subagentId === undefined ? turns : turns.filter((turn) => turn.subagent?.id === subagentId);
      return wanted.slice(0, limit);
    },
    async listMail(sessionId, { after = 0, waiting, limit }) {
      const messages = messagesOf(rows, sessionId).filter((message) => message.number > after);
      const wanted = waiting === true ? messages.filter((message) => message.takenBy === null) : messages;
      return wanted.toSorted((a, b) => a.number - b.number).slice(0, limit);
    },
  };
}

function subagentTurnsOf(rows: Rows, sessionId: string): Turn[] {
  const turns = rows.turns.values().filter((turn) => turn.sessionId === sessionId && turn.subagent !== undefined);
  return [...turns].toSorted((a, b) => b.sequence - a.sequence);
}

function messagesOf(rows: Rows, sessionId: string): MailboxMessage[] {
  return [...rows.mailbox.values()].filter((message) => message.sessionId === sessionId);
}

export function subagentOrMailRefusal(
  rows: Rows,
  { turn, subagent: bounds, mail = [] }: TurnOpening,
): OpenResult | null {
  if (turn.subagent !== undefined && bounds !== undefined) {
    const { id } = turn.subagent;
    const turns = subagentTurnsOf(rows, turn.sessionId);
    const newest = turns.find((other) => other.subagent?.id === id);
    const isAsSeen = (newest?.id ?? null) === bounds.seenTurnId && newest?.status !== "pending";
    if (!isAsSeen) return { outcome: "subagent_moved" };
    if (turns.length >= bounds.turnsMax) return { outcome: "subagents_limited", bound: "turnsMax" };
    const running = turns.filter((other) => other.status === "pending");
    if (running.length >= bounds.runningMax) return { outcome: "subagents_limited", bound: "runningMax" };
  }
  const waits = (id: string): boolean => {
    const message = rows.mailbox.get(id);
    return message?.sessionId === turn.sessionId && message.takenBy === null;
  };
  return mail.every(waits) ? null : { outcome: "mail_taken" };
}

export function takeMail(rows: Rows, { turn, mail = [] }: TurnOpening): void {
  for (const id of mail) change(rows, id, { takenBy: turn.id });
}

export function settleMail(rows: Rows, turn: FinishedTurn): void {
  const taken = messagesOf(rows, turn.sessionId).filter(({ takenBy }) => takenBy === turn.id);
  const end = mayBeParent(turn) ? { deliveredAt: turn.statusAt } : { takenBy: null };
  for (const { turnId } of taken) change(rows, turnId, end);
}

export function putMessage(rows: Rows, message: ImportedMessage): void {
  const last = Math.max(0, ...messagesOf(rows, message.sessionId).map(({ number }) => number));
  insert(rows.mailbox, message.turnId, { ...message, number: last + 1 });
}

export function importMail(rows: Rows, mail: readonly ImportedMessage[]): void {
  for (const message of mail) {
    const here = rows.mailbox.get(message.turnId);
    const { takenBy, deliveredAt } = message;
    if (here === undefined) putMessage(rows, message);
    else if (here.takenBy === null) change(rows, message.turnId, { takenBy, deliveredAt });
  }
}

function change(rows: Rows, turnId: string, what: Partial<MailboxMessage>): void {
  const message = rows.mailbox.get(turnId);
  if (message !== undefined) rows.mailbox.set(turnId, { ...message, ...what });
}

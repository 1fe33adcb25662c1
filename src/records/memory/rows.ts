/** The tables of the memory store: maps from a row's key to the row. */
import type { ContextVersion } from "../../domain/context.ts";
import type { AuditEntry } from "../../domain/audit.ts";
import type { Budget, BudgetHold } from "../../domain/budget.ts";
import type { ApiKey, Org, User } from "../../domain/caller.ts";
import type { PairingCode } from "../../domain/device.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { MailboxMessage } from "../../domain/mailbox.ts";
import type { Session } from "../../domain/session.ts";
import type { Step } from "../../domain/step.ts";
import type { Summary } from "../../domain/summary.ts";
import type { PendingTurn, Turn } from "../../domain/turn.ts";
import type { ClientAnswer, ClientQuestion } from "../questions.ts";
import type { UnkeptTurn } from "../unkept.ts";
import type { DeviceOwner, HeadMove, IdempotentRequest, Runner, TurnControl, TurnText } from "../record-store.ts";

export interface KeptQuestion extends ClientQuestion {
  expiresAt: number;
  answer: ClientAnswer | null;
}

export interface Rows {
  sessions: Map<string, Session>;
  turns: Map<string, Turn>;
  /** The ids of imported turns. They do not make their authors participants of the session. */
  imported: Map<string, true>;
  /** The key is the session and the user. */
  participants: Map<string, { sessionId: string; userId: string }>;
  /** The key is the user and the idempotency key. */
  idempotency: Map<string, IdempotentRequest>;
  /** The key is the turn and the step number. */
  steps: Map<string, Step>;
  /** The key is the turn. */
  texts: Map<string, TurnText>;
  /** The key is the session and the number of the move. */
  headMoves: Map<string, HeadMove>;
  /** The key is the subagent's turn. */
  mailbox: Map<string, MailboxMessage>;
  controls: Map<string, TurnControl>;
  questions: Map<string, KeptQuestion>;
  runners: Map<string, Runner>;
  orgs: Map<string, Org>;
  users: Map<string, User>;
  keys: Map<string, ApiKey>;
  /** The key is the id that the device uses for itself. */
  devices: Map<string, DeviceOwner>;
  pairingCodes: Map<string, PairingCode>;
  storeFacts: Map<string, string>;
  /** The key is the scope. */
  rates: Map<string, { slot: number; used: number; previous: number }>;
  /** All versions of a context, oldest first. The key is the org, the kind and the id. */
  contexts: Map<string, ContextVersion[]>;
  audit: Map<string, AuditEntry>;
  unkept: Map<string, UnkeptTurn>;
  summaries: Map<string, SummaryRow>;
  budgets: Map<string, Budget>;
  /** What is spent. The key is the budget and the day. */
  budgetCounts: Map<string, number>;
  /** The key is the turn, the step and the budget. */
  budgetHolds: Map<string, KeptHold>;
}

export interface SummaryRow {
  summary: Summary;
  runnerId: string;
  leaseExpiresAt: number;
  isStopping: boolean;
}

/** What is held of a budget for a call. */
export interface KeptHold extends BudgetHold {
  turnId: string;
  step: number;
  runnerId: string;
}

export function emptyRows(): Rows {
  return {
    sessions: new Map(),
    turns: new Map(),
    imported: new Map(),
    participants: new Map(),
    idempotency: new Map(),
    steps: new Map(),
    texts: new Map(),
    headMoves: new Map(),
    mailbox: new Map(),
    controls: new Map(),
    questions: new Map(),
    runners: new Map(),
    orgs: new Map(),
    users: new Map(),
    keys: new Map(),
    devices: new Map(),
    pairingCodes: new Map(),
    storeFacts: new Map(),
    rates: new Map(),
    contexts: new Map(),
    audit: new Map(),
    unkept: new Map(),
    summaries: new Map(),
    budgets: new Map(),
    budgetCounts: new Map(),
    budgetHolds: new Map(),
  };
}

/** Returns a key that is made of two parts. JSON keeps `a`,`bc` apart from `ab`,`c`. */
export function pairKey(first: string, second: string | number): string {
  return JSON.stringify([first, second]);
}

export function insert<Row>(table: Map<string, Row>, key: string, row: Row): void {
  assertFree(table, key);
  table.set(key, row);
}

export function assertFree(table: ReadonlyMap<string, unknown>, key: string): void {
  if (table.has(key)) throw new AptoveError("storage_failed", `a row with the key ${key} exists already`);
}

/** Compares two rows: the older one comes first, and equal times are ordered by id. */
export function byAge(a: { createdAt: number; id: string }, b: { createdAt: number; id: string }): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
}

export function isPending(turn: Turn): turn is PendingTurn {
  return turn.status === "pending";
}

/** Returns the pending agent turn of a session. */
export function runningTurn(rows: Rows, sessionId: string): PendingTurn | null {
  const pending = rows.turns.values().filter(isPending);
  return pending.find((turn) => turn.sessionId === sessionId && turn.kind === "agent") ?? null;
}

/** Returns whether the user takes part in the session (S7). */
export function isParticipant(rows: Rows, sessionId: string, userId: string): boolean {
  return rows.participants.has(pairKey(sessionId, userId));
}

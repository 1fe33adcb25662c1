/**
 * The tables as the query builder sees them; docs/formats/records.md describes them. Columns hold what is queried. All
 * other fields of a row are JSON text in `doc`, which keeps any string exactly: JSON escapes the NULs and lone surrogates that a
 * text column of one engine or the other would refuse or change. Times are epoch milliseconds and booleans 0 or 1, so a row
 * looks the same in both engines.
 */
import type { Generated } from "kysely";
import type { AuditAction } from "../../domain/audit.ts";
import type { BudgetPeriod, BudgetScope, BudgetUnit } from "../../domain/budget.ts";
import type { Role } from "../../domain/caller.ts";
import type { MailboxKind } from "../../domain/mailbox.ts";
import type { ContextKind } from "../../domain/context.ts";
import type { TurnKind, TurnStatus } from "../../domain/turn.ts";

export interface Tables {
  sessions: SessionRow;
  participants: { session_id: string; user_id: string };
  turns: TurnRow;
  unkept_turns: UnkeptRow;
  mailbox: MailboxRow;
  idempotency: { user_id: string; key: string; request_hash: string; turn_id: string };
  steps: StepRow;
  texts: TextRow;
  words: WordsTable;
  contents: ContentTable;
  /** Blobs that are in no content. Only SQLite has this table. */
  blobs: { key: string; frame: Buffer };
  head_moves: HeadMoveRow;
  controls: { id: string; turn_id: string; sent_at: number; doc: string };
  client_questions: ClientQuestionRow;
  runners: { id: string; started_at: number; doc: string };
  orgs: { id: string; created_at: number; suspended_at: number | null; doc: string };
  users: UserRow;
  api_keys: ApiKeyRow;
  devices: DeviceRow;
  pairing_codes: PairingCodeRow;
  rates: { scope: string; slot: number; used: number; previous: number };
  budgets: BudgetRow;
  /** What is spent of a budget on a day. Days are counted since the epoch; a budget in total has day 0. */
  budget_counts: { budget_id: string; day: number; spent: number };
  /** What is held of a budget for a call that runs. */
  budget_holds: { turn_id: string; step: number; budget_id: string; day: number; amount: number; runner_id: string };
  contexts: ContextRow;
  context_versions: ContextVersionRow;
  audit: AuditRow;
  summaries: SummaryRow;
  store_facts: { name: string; value: string };
}

/** `view` and `answer` are JSON. */
export interface ClientQuestionRow {
  turn_id: string;
  call_id: string;
  asker_id: string;
  expires_at: number;
  view: string;
  answer: string | null;
}

export interface SessionRow {
  id: string;
  org_id: string;
  user_id: string;
  is_public: number;
  is_draft: number;
  workspace_id: string | null;
  repo: string | null;
  origin_turn_id: string | null;
  head_turn_id: string | null;
  last_sequence: number;
  last_turn_status: TurnStatus | null;
  last_turn_at: number | null;
  tokens_total: number;
  cost_usd: number;
  created_at: number;
  updated_at: number;
  active_at: number;
  archived_at: number | null;
  deleted_at: number | null;
  /** The name as search compares it. */
  folded_name: string;
  /** The labels and the metadata as search compares them. */
  folded_details: string;
  doc: string;
}

export interface TurnRow {
  id: string;
  session_id: string;
  parent_id: string | null;
  sequence: number;
  depth: number;
  kind: TurnKind;
  status: TurnStatus;
  created_by: string;
  created_at: number;
  /** The next two columns are set only for a pending turn. */
  runner_id: string | null;
  lease_expires_at: number | null;
  /** Set only for a subagent's turn. */
  subagent_id: string | null;
  /** Set only for a finished turn that can be found by its history. */
  history_key: string | null;
  /** Set only for a finished turn whose id was deleted. */
  hidden_at: number | null;
  /** Empty if the content has it. */
  doc: string;
  /** The content of a finished turn. Only SQLite has this column. */
  content_id?: number | null | undefined;
}

export interface SummaryRow {
  id: string;
  org_id: string;
  session_id: string;
  through_turn_id: string;
  status: "pending" | "completed" | "failed";
  created_at: number;
  /** The next two columns are set only while the summary is being made. */
  runner_id: string | null;
  lease_expires_at: number | null;
  is_stopping: number;
  /** The lines as search compares them. Empty unless it is completed. */
  folded_text: string;
  doc: string;
}

export interface UnkeptRow {
  id: string;
  org_id: string;
  user_id: string;
  runner_id: string;
  started_at: number;
  ended_at: number | null;
  request_hash: string;
  doc: string;
}

export interface MailboxRow {
  /** The subagent's turn that ended. */
  turn_id: string;
  session_id: string;
  number: number;
  kind: MailboxKind;
  subagent_id: string;
  created_at: number;
  taken_by: string | null;
  delivered_at: number | null;
  doc: string;
}

export interface StepRow {
  turn_id: string;
  step: number;
  doc: string;
}

/** The texts by which search finds a turn (S8). */
export interface TextRow {
  session_id: string;
  sequence: number;
  instruction: string;
  answer: string;
  /** The text as search compares it. Null if lowering A to Z gives the same, so that most text is stored once. */
  folded_instruction: string | null;
  folded_answer: string | null;
}

/** The words of a finished turn. Only SQLite has this table and the next one. */
export interface WordsTable extends Omit<TextRow, "session_id" | "sequence"> {
  id: Generated<number>;
}

/** What a finished turn has beside its words, in packed form. */
export interface ContentTable {
  /** That of the words. */
  id: number;
  seed_id: number | null;
  sealed: Buffer;
  blobs: Buffer | null;
}

export interface HeadMoveRow {
  session_id: string;
  /** The number of the move, from 1. */
  move: number;
  from_turn_id: string | null;
  to_turn_id: string;
  user_id: string;
  moved_at: number;
}

export interface DeviceRow {
  /** The id that the device uses for itself. */
  id: string;
  org_id: string;
  user_id: string;
  first_used_at: number;
}

export interface PairingCodeRow {
  id: string;
  org_id: string;
  user_id: string;
  hash: string;
  created_at: number;
  expires_at: number;
  tries_left: number;
  claimed_at: number | null;
  key_id: string | null;
  workspace_id: string | null;
  label: string | null;
  role_max: Role | null;
}

export interface BudgetRow {
  id: string;
  org_id: string;
  scope: BudgetScope;
  target_id: string;
  period: BudgetPeriod;
  unit: BudgetUnit;
  /** The amount, as nano-dollars or tokens. */
  limit_amount: number;
  created_at: number;
  created_by: string;
  doc: string;
}

/** The current version of a context: the newest. */
export interface ContextRow {
  org_id: string;
  kind: ContextKind;
  id: string;
  version: number;
}

/** One version of a context. Its row never changes. */
export interface ContextVersionRow extends ContextRow {
  created_at: number;
  created_by: string;
  is_retired: number;
  doc: string;
}

export interface UserRow {
  id: string;
  org_id: string;
  created_at: number;
  role: Role;
  email: string | null;
  external_id: string | null;
  disabled_at: number | null;
  doc: string;
}

export interface AuditRow {
  id: string;
  org_id: string;
  at: number;
  user_id: string | null;
  action: AuditAction;
  target_id: string | null;
  doc: string;
}

export interface ApiKeyRow {
  id: string;
  org_id: string;
  user_id: string;
  device_id: string | null;
  hash: string;
  created_at: number;
  last_used_at: number | null;
  revoked_at: number | null;
  doc: string;
}

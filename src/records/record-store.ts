/**
 * The contract for records: rows (B1). The engine decides what a row contains. A store makes no decisions, but it enforces the
 * rules that must hold across processes and machines.
 *
 * A store is an object of parts. Each part is an interface in a file beside this one. That file states what a driver must do,
 * what it may ignore, and what it returns on failure. The tests in `suite/` and each driver have a file of the same name.
 *
 * Every method of every part keeps these promises.
 * - It is one transaction, durable when it resolves (B3), and safe beside other processes on the same data (B4).
 * - It returns what was stored, unchanged. Objects that go in or come out belong to the caller: a driver neither keeps nor
 * changes them.
 * - It never throws for an outcome that its result type names. A full device is an AptoveError `storage_full`, data of a newer
 *   version `data_newer`, data that cannot be read as it was written `records_damaged`, a write to data that was moved or deleted
 *   while the store was open `records_moved`, and every other fault of the medium `storage_failed`.
 */
import type { AttachmentRecords } from "./attachments.ts";
import type { AuditRecords } from "./audit.ts";
import type { BudgetRecords } from "./budgets.ts";
import type { ContextRecords } from "./contexts.ts";
import type { DeviceRecords } from "./devices.ts";
import type { ImportRecords } from "./imports.ts";
import type { KeyRecords } from "./keys.ts";
import type { LimitRecords } from "./limits.ts";
import type { PeopleRecords } from "./people.ts";
import type { PurgeRecords } from "./purges.ts";
import type { QuestionRecords } from "./questions.ts";
import type { RunnerRecords } from "./runners.ts";
import type { SearchRecords } from "./search.ts";
import type { SessionRecords } from "./sessions.ts";
import type { StorageRecords } from "./storage.ts";
import type { SubagentRecords } from "./subagents.ts";
import type { SummaryRecords } from "./summaries.ts";
import type { TurnRecords } from "./turns.ts";
import type { UnkeptRecords } from "./unkept.ts";

export type * from "./attachments.ts";
export type * from "./audit.ts";
export type * from "./budgets.ts";
export type * from "./contexts.ts";
export type * from "./devices.ts";
export type * from "./imports.ts";
export type * from "./keys.ts";
export type * from "./limits.ts";
export type * from "./people.ts";
export type * from "./purges.ts";
export type * from "./questions.ts";
export type * from "./runners.ts";
export type * from "./search.ts";
export type * from "./sessions.ts";
export type * from "./storage.ts";
export type * from "./subagents.ts";
export type * from "./summaries.ts";
export type * from "./turns.ts";
export type * from "./unkept.ts";

/** Every store has all parts on one database, because `turns`, `imports` and `purges` change several parts in one transaction. */
export interface RecordStore {
  sessions: SessionRecords;
  attachments: AttachmentRecords;
  turns: TurnRecords;
  unkept: UnkeptRecords;
  subagents: SubagentRecords;
  summaries: SummaryRecords;
  runners: RunnerRecords;
  questions: QuestionRecords;
  limits: LimitRecords;
  budgets: BudgetRecords;
  search: SearchRecords;
  imports: ImportRecords;
  purges: PurgeRecords;
  contexts: ContextRecords;
  people: PeopleRecords;
  keys: KeyRecords;
  devices: DeviceRecords;
  audit: AuditRecords;
  storage: StorageRecords;
  close(): Promise<void>;
}

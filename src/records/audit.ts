/**
 * The records' part for the audit log: who did what in an org. A driver only adds entries, and deletes old ones on request; an
 * entry never changes.
 */
import type { AuditAction, AuditEntry } from "../domain/audit.ts";

export interface AuditRecords {
  insert(entry: AuditEntry): Promise<void>;
  /** Returns the newest entry first; those of the same time by id, descending. */
  list(query: AuditQuery): Promise<AuditEntry[]>;
  /** Deletes entries that are older than `before`, the oldest first and at most `limit`. Returns how many it deleted. */
  drop(before: number, limit: number): Promise<number>;
}

export interface AuditQuery {
  orgId: string;
  limit: number;
  userId?: string;
  action?: AuditAction;
  targetId?: string;
  /** The earliest time. */
  from?: number;
  /** The time before which an entry must be. */
  until?: number;
  /** The last row of the previous page. */
  after?: { at: number; id: string };
}

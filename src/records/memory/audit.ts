/** The audit log in memory. */
import type { AuditEntry } from "../../domain/audit.ts";
import type { AuditRecords } from "../audit.ts";
import { insert, type Rows } from "./rows.ts";

export function auditRecords(rows: Rows): AuditRecords {
  return {
    async insert(entry) {
      insert(rows.audit, entry.id, entry);
    },
    async list({ limit, after, from = -Infinity, until = Infinity, ...wanted }) {
      const fits = (entry: AuditEntry): boolean =>
        Object.entries(wanted).every(
          ([name, value]) => value === undefined || entry[name as keyof typeof wanted] === value,
        );
      const found = [...rows.audit.values()].filter(
        (entry) =>
          fits(entry) && entry.at >= from && entry.at < until && (after === undefined || newestFirst(after, entry) < 0),
      );
      return found.toSorted(newestFirst).slice(0, limit);
    },
    async drop(before, limit) {
      const old = [...rows.audit.values()].filter(({ at }) => at < before).toSorted(newestFirst);
      const dropped = old.toReversed().slice(0, limit);
      for (const { id } of dropped) rows.audit.delete(id);
      return dropped.length;
    },
  };
}

function newestFirst(a: Pick<AuditEntry, "at" | "id">, b: Pick<AuditEntry, "at" | "id">): number {
  return b.at - a.at || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
}

/**
 * The audit log. An act is written down right after it, done or refused: `audited` goes around it. What cannot be written
 * down is told to the operator, and the act stands.
 */
import type { AuditAction, AuditEntry } from "../../domain/audit.ts";
import { operatorId, type Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { adminOnly, pageLimit } from "./access.ts";
import type { AuditLog } from "../engine.ts";
import type { EngineDependencies } from "../dependencies.ts";

export interface Act<T> {
  by: Actor;
  action: AuditAction;
  /** The id of the thing, or how to find it in what was made. Absent: there is none. */
  target?: string | ((made: T) => string);
  facts?: AuditEntry["facts"];
}

/** Who acted, as far as the log says it. */
export type Actor = Pick<Caller, "orgId" | "userId" | "keyId" | "requestId">;

/** Does it, and writes down that it was done, or with which code it was refused. Rejects as the body does. */
export async function audited<T>(
  deps: EngineDependencies,
  { by, action, target, facts = {} }: Act<T>,
  body: () => Promise<T>,
): Promise<T> {
  try {
    const made = await body();
    const targetId = typeof target === "function" ? target(made) : target;
    await write(deps, by, { action, targetId: targetId ?? null, outcome: "done", facts });
    return made;
  } catch (error) {
    const outcome = error instanceof AptoveError ? error.code : "internal";
    const targetId = typeof target === "string" ? target : null;
    await write(deps, by, { action, targetId, outcome, facts });
    throw error;
  }
}

async function write(
  { records, now, report }: EngineDependencies,
  { orgId, userId, keyId, requestId }: Actor,
  { targetId, ...what }: Pick<AuditEntry, "action" | "targetId" | "outcome" | "facts">,
): Promise<void> {
  const who = { userId: userId === operatorId ? null : userId, keyId: keyId ?? null, requestId: requestId ?? null };
  try {
    await records.audit.insert({ id: newId(), orgId, at: now(), ...who, targetId: shownId(targetId), ...what });
  } catch (error) {
    report(`${what.action} could not be written into the audit log`, error);
  }
}

/** What was asked for may be anything: text that is no id is not kept. */
function shownId(id: string | null): string | null {
  return id !== null && /^[\w.:-]{1,255}$/.test(id) ? id : null;
}

export function auditLog(deps: EngineDependencies): AuditLog {
  return {
    list: async (caller, { limit, ...query }) => {
      adminOnly(caller, "read the audit log");
      const max = pageLimit(limit);
      const found = await deps.records.audit.list({ ...query, orgId: caller.orgId, limit: max + 1 });
      const entries = found.slice(0, max);
      const last = entries.at(-1);
      return { entries, next: found.length > max && last !== undefined ? { at: last.at, id: last.id } : null };
    },
  };
}

const dayMs = 86_400_000;

/** Drops what is older than the configuration keeps, a batch at a time; to be called often, and does it rarely. */
export function auditRetention({
  records,
  limits: { auditRetentionDays },
  now,
}: EngineDependencies): () => Promise<void> {
  let next = 0;
  return async () => {
    if (now() < next) return;
    const dropped = await records.audit.drop(now() - auditRetentionDays * dayMs, limits.auditDroppedMax);
    next = dropped < limits.auditDroppedMax ? now() + limits.auditDropMs : 0;
  };
}

/**
 * The audit log. `audited` runs an action and records it right afterwards, whether it succeeded or was refused. If the
 * record cannot be written, the operator receives a report, and the action remains done.
 */
import type { AuditAction, AuditEntry } from "../../domain/audit.ts";
import { operatorId, type Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { adminOnly, pageLimit } from "./access.ts";
import { maySee } from "./visible.ts";
import type { AuditLog } from "../engine.ts";
import type { EngineDependencies } from "../dependencies.ts";

/** An action that is recorded. */
export interface AuditedAction<T> {
  by: AuditedCaller;
  action: AuditAction;
  /** The id of the thing that the action concerns, or a function that finds it in the result. Absent: there is none. */
  target?: string | ((made: T) => string);
  facts?: AuditEntry["facts"];
}

/** The facts about the caller that the log keeps. */
export type AuditedCaller = Pick<Caller, "orgId" | "userId" | "keyId" | "requestId">;

/** Runs `body`, and records that it succeeded, or the code of its error. Rejects with the error of `body`. */
export async function audited<T>(
  deps: EngineDependencies,
  { by, action, target, facts = {} }: AuditedAction<T>,
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
  { orgId, userId, keyId, requestId }: AuditedCaller,
  { targetId, ...what }: Pick<AuditEntry, "action" | "targetId" | "outcome" | "facts">,
): Promise<void> {
  const who = { userId: userId === operatorId ? null : userId, keyId: keyId ?? null, requestId: requestId ?? null };
  try {
    await records.audit.insert({ id: newId(), orgId, at: now(), ...who, targetId: shownId(targetId), ...what });
  } catch (error) {
    report(`${what.action} could not be written into the audit log`, error);
  }
}

/**
 * Returns the id, or null if the text is no id. A caller may send any text as an id, and such a text is not recorded.
 */
function shownId(id: string | null): string | null {
  return id !== null && /^[\w.:-]{1,255}$/.test(id) ? id : null;
}

export function auditLog(deps: EngineDependencies): AuditLog {
  return {
    list: async (caller, { limit, ...query }) => {
      adminOnly(caller, "read the audit log");
      const max = pageLimit(limit);
      const found = await deps.records.audit.list({ ...query, orgId: caller.orgId, limit: max + 1 });
      const page = found.slice(0, max);
      const visible = await visibleSessions(deps, caller, page);
      const entries = page.map((entry) => ({
        ...entry,
        sessionId: entry.targetId !== null && visible.has(entry.targetId) ? entry.targetId : null,
      }));
      const last = page.at(-1);
      return { entries, next: found.length > max && last !== undefined ? { at: last.at, id: last.id } : null };
    },
  };
}

/** Returns the ids of the sessions that the entries name and the caller may see. */
async function visibleSessions(
  deps: EngineDependencies,
  caller: Caller,
  entries: readonly AuditEntry[],
): Promise<ReadonlySet<string>> {
  const named = entries.filter(({ action }) => action.startsWith("session.")).flatMap(({ targetId }) => targetId ?? []);
  const found = [...new Set(named)].filter(isId).map(async (id) => {
    const session = await deps.records.sessions.get(id);
    return session?.deletedAt === null && (await maySee(deps, caller, session)) ? [id] : [];
  });
  return new Set((await Promise.all(found)).flat());
}

const dayMs = 86_400_000;

/**
 * Returns a function that deletes entries older than the configuration keeps, one batch at a time. It can be called
 * often: it does its work rarely.
 */
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

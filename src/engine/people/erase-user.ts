/**
 * Deletes what a user who left had for themselves (H4, S6). Only the operator does this: no admin sees the private sessions of
 * others, and a person who has the stores can read them anyway. What other people share with the user stays.
 */
import { operatorId, type User } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { Session } from "../../domain/session.ts";
import { audited } from "../access/audit.ts";
import type { ErasedUser, Erasing, FactChoice } from "../engine.ts";
import { eachSession } from "../sessions/attachments.ts";
import { purge } from "../sessions/purging.ts";
import type { EngineDependencies } from "../dependencies.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import type { KeyWatch } from "./key-watch.ts";

/** The name that stays for what a user did in sessions of others. */
const erasedName = "erased user";

export function erasing(core: EngineCore, watch: KeyWatch): Erasing {
  const { deps } = core;
  return {
    erasable: async (userId) => {
      const { user, own, shared, keyIds, facts } = await belongings(deps, userId);
      return { user, sessions: own.length, sharedSessions: shared, keys: keyIds.length, facts: facts.length };
    },
    eraseUser: async (userId) => {
      const found = await belongings(deps, userId);
      const by = { orgId: found.user.orgId, userId: operatorId };
      const facts = { sessions: found.own.length, keys: found.keyIds.length, facts: found.facts.length };
      return await audited(deps, { by, action: "user.erase", target: userId, facts }, () => erase(core, watch, found));
    },
  };
}

interface Belongings {
  user: User;
  /** The sessions that no one else can see, and those that the user removed. */
  own: Session[];
  /** How many other sessions the user owns. */
  shared: number;
  keyIds: string[];
  /** The facts that were written down in the own sessions. */
  facts: FactChoice[];
}

async function belongings(deps: EngineDependencies, userId: string): Promise<Belongings> {
  const user = await deps.records.people.getUser(userId);
  if (user === null) throw new AptoveError("not_found", `there is no user ${JSON.stringify(userId)}`);
  const own: Session[] = [];
  let shared = 0;
  for await (const session of eachSession(deps)) {
    if (session.userId !== userId || session.orgId !== user.orgId) continue;
    if (await isShared(deps, session)) shared += 1;
    else own.push(session);
  }
  const [keyIds, facts] = await Promise.all([keysOf(deps, user), factsOf(deps, new Set(own.map(({ id }) => id)))]);
  return { user, own, shared, keyIds, facts };
}

async function isShared({ records }: EngineDependencies, session: Session): Promise<boolean> {
  if (session.isDraft || session.deletedAt !== null) return false;
  const others = (await records.sessions.listParticipants(session.id)).filter((id) => id !== session.userId);
  return session.isPublic || others.length > 0;
}

/** Returns the ids of the keys in use, with the tokens of devices and browsers. */
async function keysOf({ records }: EngineDependencies, { orgId, id: userId }: User): Promise<string[]> {
  const ids: string[] = [];
  for (let after: { createdAt: number; id: string } | undefined; ;) {
    const page = { ...(after !== undefined && { after }), limit: limits.pageSizeMax };
    const keys = await records.keys.list({ orgId, userId, unrevoked: true, ...page });
    ids.push(...keys.map(({ id }) => id));
    after = keys.at(-1);
    if (keys.length < limits.pageSizeMax) return ids;
  }
}

async function factsOf({ workspaces }: EngineDependencies, sessionIds: ReadonlySet<string>): Promise<FactChoice[]> {
  if (workspaces?.memory === undefined || workspaces.managed === undefined) return [];
  const found: FactChoice[] = [];
  for (const { id: workspaceId, damage } of await (await workspaces.managed()).workspaces.listBound()) {
    const memory = damage === null ? await workspaces.memory.read(workspaceId) : null;
    for (const { id, source } of memory?.facts ?? [])
      if (source !== null && sessionIds.has(source.sessionId)) found.push({ workspaceId, id });
  }
  return found;
}

/** Can be run again after it broke off: the sessions go after what is found by them, and the user's own row changes last. */
async function erase(core: EngineCore, watch: KeyWatch, found: Belongings): Promise<ErasedUser> {
  const { records, workspaces, now } = core.deps;
  const { user, own, shared, keyIds, facts } = found;
  if (user.disabledAt === null)
    throw new AptoveError("request_invalid", "disable the user first: aptove user disable <user>");
  const running = own.find(({ lastTurnStatus }) => lastTurnStatus === "pending");
  if (running !== undefined)
    throw new AptoveError("session_busy", `a turn of their session ${running.id} is running; wait for its end`);
  for (const id of keyIds) await records.keys.update({ orgId: user.orgId, id }, { revokedAt: now() });
  await watch.changed();
  for (const { workspaceId, id } of facts) await workspaces?.memory?.forget(workspaceId, id);
  const purged = await purgeAll(core, own);
  const erased = await records.people.updateUser(user.orgId, user.id, {
    name: erasedName,
    email: null,
    externalId: null,
  });
  const counts = { sessions: own.length, sharedSessions: shared, keys: keyIds.length, facts: facts.length };
  return { user: erased.outcome === "updated" ? erased.user : user, ...counts, ...purged };
}

const noWords = { name: erasedName, description: "", labels: [], category: null, metadata: {} };

/** Purges forks before what they were forked from. A session with turns that a fork of another user needs keeps those, without its words. */
async function purgeAll(
  core: EngineCore,
  own: readonly Session[],
): Promise<Pick<ErasedUser, "turnsPurged" | "turnsKept" | "bytesFreed">> {
  const { records, now } = core.deps;
  const sum = { turnsPurged: 0, turnsKept: 0, bytesFreed: 0 };
  let rest = own.toSorted((one, other) => (one.id < other.id ? 1 : -1));
  for (;;) {
    const before = rest.length;
    const kept: Session[] = [];
    sum.turnsKept = 0;
    for (const session of rest) {
      const removed = { ...session, deletedAt: session.deletedAt ?? now() };
      await records.sessions.update(session.id, { ...noWords, deletedAt: removed.deletedAt }, now());
      const { turnsPurged, turnsKept, bytesFreed } = await purge(core, removed);
      sum.turnsPurged += turnsPurged;
      sum.bytesFreed += bytesFreed;
      sum.turnsKept += turnsKept;
      if (turnsKept > 0) kept.push(session);
    }
    // An imported fork may be older than what it was forked from, and only then another round frees more.
    if (kept.length === 0 || kept.length === before) return sum;
    rest = kept;
  }
}

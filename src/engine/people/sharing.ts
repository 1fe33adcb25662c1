/** The users of an org who can read a session or take part in it (S7, H4). docs/people.md has the whole table. */
import type { AuditAction } from "../../domain/audit.ts";
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { Session } from "../../domain/session.ts";
import type { AccessWatch } from "../access/access-watch.ts";
import { audited } from "../access/audit.ts";
import type { Sessions, SessionSharing, SharedSession } from "../engine.ts";
import type { EngineDependencies } from "../dependencies.ts";
import { userOfOrg } from "./people.ts";
import { updateSession } from "../sessions/sessions.ts";
import { changeableSession, visibleSession } from "../access/visible.ts";

type Change = Parameters<SessionSharing["change"]>[2];

export function sharing(deps: EngineDependencies, watch: AccessWatch): SessionSharing {
  return {
    of: async (caller, sessionId) => await shared(deps, await visibleSession(deps, caller, sessionId)),
    change: async (caller, sessionId, change) => {
      let changed: Session | null = null;
      // Each step is one entry of the audit log.
      for (const { action, facts, apply } of stepsOf(change)) {
        const act = { action, target: sessionId, facts };
        changed = await audited(deps, { by: caller, ...act }, async () => {
          const session = await changeableSession(deps, caller, sessionId);
          return await apply(deps, caller, session);
        });
      }
      await watch.changed();
      return await shared(deps, changed ?? (await changeableSession(deps, caller, sessionId)));
    },
  };
}

/** Updates sessions. A patch that sets `isPublic` shares or unshares the session, and is recorded as that. */
export function updating(deps: EngineDependencies, watch: AccessWatch): Sessions["update"] {
  return async (caller, id, patch) => {
    const { isPublic } = patch;
    const update = (): Promise<Session> => updateSession(deps, caller, { id, patch });
    if (isPublic === undefined) return await update();
    const action = isPublic ? "session.share" : "session.unshare";
    const session = await audited(deps, { by: caller, action, target: id }, update);
    if (!isPublic) await watch.changed();
    return session;
  };
}

interface Step {
  action: AuditAction;
  facts: Record<string, string>;
  apply(deps: EngineDependencies, caller: Caller, session: Session): Promise<Session>;
}

function stepsOf({ isPublic, invite = [], dismiss = [] }: Change): Step[] {
  const steps: Step[] = [];
  for (const userId of invite) {
    steps.push({
      action: "session.invite",
      facts: { userId },
      apply: (deps, caller, session) => inviteUser(deps, caller, { session, userId }),
    });
  }
  for (const userId of dismiss) {
    steps.push({
      action: "session.dismiss",
      facts: { userId },
      apply: async ({ records }, _caller, session) => {
        await records.sessions.changeParticipants(session.id, { invited: [], dismissed: [userId] });
        return session;
      },
    });
  }
  if (isPublic !== undefined) {
    steps.push({
      action: isPublic ? "session.share" : "session.unshare",
      facts: {},
      apply: async ({ records, now }, _caller, session) =>
        (await records.sessions.update(session.id, { isPublic }, now())) ?? session,
    });
  }
  return steps;
}

async function inviteUser(
  deps: EngineDependencies,
  caller: Caller,
  { session, userId }: { session: Session; userId: string },
): Promise<Session> {
  await userOfOrg(deps, caller, userId);
  const max = limits.participantsPerSessionMax;
  const there = await deps.records.sessions.listParticipants(session.id);
  if (!there.includes(userId) && there.length >= max) {
    throw new AptoveError("request_invalid", `a session can have at most ${max} participants; dismiss one first`);
  }
  await deps.records.sessions.changeParticipants(session.id, { invited: [userId], dismissed: [] });
  return session;
}

async function shared({ records }: EngineDependencies, session: Session): Promise<SharedSession> {
  const ids = await records.sessions.listParticipants(session.id);
  const users = await Promise.all(ids.map((id) => records.people.getUser(id)));
  const participants = users
    .filter((user) => user !== null)
    .map(({ id: userId, name, role }) => ({ userId, name, role }));
  return { session, participants };
}

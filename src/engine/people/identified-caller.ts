/** The caller that the identity provider names, by a token (H4) or in a sign-in (U2). */
import { operatorId, type Caller, type User } from "../../domain/caller.ts";
import { newId } from "../../domain/ids.ts";
import type { IdentifiedUser } from "../../identity/identity-provider.ts";
import { audited } from "../access/audit.ts";
import type { EngineDependencies } from "../dependencies.ts";

/**
 * Returns the caller, or null if there is no provider, if the token is not valid, or if its user or org is not
 * admitted. Throws `identity_unavailable`.
 */
export async function identifiedCaller(deps: EngineDependencies, token: string): Promise<Caller | null> {
  const who = (await deps.identities?.identify(token, deps.now())) ?? null;
  return who === null ? null : await admitted(deps, who);
}

/** Returns the caller for whom the provider speaks, or null if this user or their org is not admitted. */
export async function admitted(deps: EngineDependencies, who: IdentifiedUser): Promise<Caller | null> {
  const org = await deps.records.people.getOrg(who.orgId);
  if (org === null) return refused(deps, "org_unknown");
  if (org.suspendedAt !== null) return refused(deps, "org_suspended");
  const user = (await deps.records.people.findUser(org.id, who.by)) ?? (await addedUser(deps, who));
  if (user === null) return refused(deps, "user_unknown");
  if (user.disabledAt !== null) return refused(deps, "user_disabled");
  return { orgId: org.id, userId: user.id, role: who.role ?? user.role };
}

/** Reports the reason to the operator. The client does not receive it. */
function refused({ observer }: EngineDependencies, reason: string): null {
  observer.note({ type: "token_refused", reason });
  return null;
}

/**
 * Adds a new user. If two requests of the same user arrive at once, one of them adds the user and the other one finds
 * them.
 */
async function addedUser(
  deps: EngineDependencies,
  { orgId, by, name, role, mayBeAdded }: IdentifiedUser,
): Promise<User | null> {
  if (!mayBeAdded) return null;
  const user: User = {
    id: newId(),
    orgId,
    name,
    email: null,
    externalId: null,
    ...by,
    role: role ?? "reader",
    createdAt: deps.now(),
    disabledAt: null,
  };
  const actor = { orgId, userId: operatorId };
  const act = { by: actor, action: "user.create", target: user.id, facts: { role: user.role, by: "oidc" } } as const;
  const isAdded = await audited(deps, act, () => deps.records.people.insertUser(user));
  return isAdded ? user : await deps.records.people.findUser(orgId, by);
}

/** The caller whom a token of the identity provider speaks of (H4). */
import { operatorId, type Caller, type User } from "../../domain/caller.ts";
import { newId } from "../../domain/ids.ts";
import type { IdentifiedUser } from "../../identity/identity-provider.ts";
import { audited } from "../access/audit.ts";
import type { EngineDependencies } from "../dependencies.ts";

/** Null: there is no provider, the token is not good, or speaks of nobody who is let in. Throws `identity_unavailable`. */
export async function identifiedCaller(deps: EngineDependencies, token: string): Promise<Caller | null> {
  const who = (await deps.identities?.identify(token, deps.now())) ?? null;
  if (who === null) return null;
  const org = await deps.records.people.getOrg(who.orgId);
  if (org === null || org.suspendedAt !== null) return null;
  const user = (await deps.records.people.findUser(org.id, who.by)) ?? (await addedUser(deps, who));
  if (user === null || user.disabledAt !== null) return null;
  return { orgId: org.id, userId: user.id, role: who.role ?? user.role };
}

/** Of two requests of somebody new that come at once one adds them. */
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

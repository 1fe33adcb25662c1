/** The caller whom a token of the identity provider speaks of (H4). */
import { operatorId, type Caller, type User } from "../domain/caller.ts";
import { newId } from "../domain/ids.ts";
import type { Identified } from "../identity/identity-provider.ts";
import { audited } from "./audit.ts";
import type { EngineParts } from "./parts.ts";

/** Null: there is no provider, the token is not good, or speaks of nobody who is let in. Throws `identity_unavailable`. */
export async function identifiedCaller(parts: EngineParts, token: string): Promise<Caller | null> {
  const who = (await parts.identities?.identify(token, parts.now())) ?? null;
  if (who === null) return null;
  const org = await parts.records.getOrg(who.orgId);
  if (org === null || org.suspendedAt !== null) return null;
  const user = (await parts.records.findUser(org.id, who.by)) ?? (await addedUser(parts, who));
  if (user === null || user.disabledAt !== null) return null;
  return { orgId: org.id, userId: user.id, role: who.role ?? user.role };
}

/** Of two requests of somebody new that come at once one adds them. */
async function addedUser(parts: EngineParts, { orgId, by, name, role, mayBeAdded }: Identified): Promise<User | null> {
  if (!mayBeAdded) return null;
  const user: User = {
    id: newId(),
    orgId,
    name,
    email: null,
    externalId: null,
    ...by,
    role: role ?? "reader",
    createdAt: parts.now(),
    disabledAt: null,
  };
  const actor = { orgId, userId: operatorId };
  const act = { by: actor, action: "user.create", target: user.id, facts: { role: user.role, by: "oidc" } } as const;
  const isAdded = await audited(parts, act, () => parts.records.insertUser(user));
  return isAdded ? user : await parts.records.findUser(orgId, by);
}

/** Orgs and their users (H4). Admins change those of their own org. The operator of the data makes orgs. */
import { type Caller, type Org, type User, type UserPatch, operatorId } from "../../domain/caller.ts";
import type { AuditAction } from "../../domain/audit.ts";
import { AptoveError } from "../../domain/errors.ts";
import { givenName } from "../../domain/given-name.ts";
import { newId } from "../../domain/ids.ts";
import { adminOnly, pageLimit } from "../access/access.ts";
import { audited } from "../access/audit.ts";
import type {
  CreationCursor,
  Erasing,
  OldestFirstRequest,
  Operator,
  People,
  UserChange,
  UserStart,
} from "../engine.ts";
import type { KeyWatch } from "./key-watch.ts";
import type { EngineDependencies } from "../dependencies.ts";

export function people(deps: EngineDependencies, watch: KeyWatch): Omit<People, "budgets"> {
  return {
    org: async (caller, id = caller.orgId) => {
      if (id !== caller.orgId) throw noOrg(id);
      return await ownOrg(deps, id);
    },
    self: async (caller) =>
      caller.userId === operatorId
        ? { id: operatorId, name: "operator" }
        : await userOfOrg(deps, caller, caller.userId),
    renameOrg: (caller, id, name) =>
      audited(deps, { by: caller, action: "org.rename", target: id }, async () => {
        if (id !== caller.orgId) throw noOrg(id);
        adminOnly(caller, "change an org");
        return (await deps.records.people.updateOrg(id, { name: givenName(name) })) ?? (await ownOrg(deps, id));
      }),
    users: async (caller, page = {}) => {
      const { rows, next } = await pageBy(page, (asked) =>
        deps.records.people.listUsers({ ...asked, orgId: caller.orgId }),
      );
      return { users: rows.map((user) => asSeenBy(caller, user)), next };
    },
    user: async (caller, id) => asSeenBy(caller, await userOfOrg(deps, caller, id)),
    addUser: (caller, start) =>
      audited(deps, { by: caller, action: "user.create", target: ({ id }) => id, facts: roleFact(start) }, () =>
        addUser(deps, caller, start),
      ),
    changeUser: async (caller, id, change) => {
      const act = { action: actionOf(change), target: id, facts: roleFact(change) };
      const user = await audited(deps, { by: caller, ...act }, () => changeUser(deps, caller, { id, change }));
      // When this resolves, a disabled user has no open connection.
      await watch.changed();
      return user;
    },
  };
}

export function operator(deps: EngineDependencies, watch: KeyWatch): Omit<Operator, keyof Erasing> {
  const { records, now } = deps;
  const actor = (orgId: string): Caller => ({ orgId, userId: operatorId, role: "admin" });
  return {
    createOrg: async (name) => {
      const org: Org = { id: newId(), name: givenName(name), createdAt: now(), suspendedAt: null };
      await audited(deps, { by: actor(org.id), action: "org.create", target: org.id }, () =>
        records.people.insertOrg(org),
      );
      return org;
    },
    listOrgs: async (page = {}) => {
      const { rows, next } = await pageBy(page, (asked) => records.people.listOrgs(asked));
      return { orgs: rows, next };
    },
    suspendOrg: async (id, isSuspended) => {
      const action = isSuspended ? "org.suspend" : "org.resume";
      const org = await audited(deps, { by: actor(id), action, target: id }, async () => {
        const suspended = await records.people.updateOrg(id, { suspendedAt: isSuspended ? now() : null });
        return suspended ?? (await ownOrg(deps, id));
      });
      await watch.changed();
      return org;
    },
    callerFor: async (orgId) => actor((await ownOrg(deps, orgId)).id),
  };
}

async function ownOrg({ records }: EngineDependencies, id: string): Promise<Org> {
  const org = await records.people.getOrg(id);
  if (org === null) throw noOrg(id);
  return org;
}

function noOrg(id: string): AptoveError {
  return new AptoveError("not_found", `there is no org ${JSON.stringify(id)}`);
}

/** Returns a user of the caller's org. Throws `not_found` for any other user. */
export async function userOfOrg({ records }: EngineDependencies, caller: Caller, id: string): Promise<User> {
  const user = await records.people.getUser(id);
  if (user?.orgId === caller.orgId) return user;
  throw new AptoveError("not_found", `there is no user ${JSON.stringify(id)}`);
}

function asSeenBy(caller: Caller, user: User): User {
  const seesAll = (caller.role === "admin" && caller.deviceId === undefined) || caller.userId === user.id;
  return seesAll ? user : { ...user, email: null, externalId: null };
}

async function addUser(deps: EngineDependencies, caller: Caller, start: UserStart): Promise<User> {
  adminOnly(caller, "add people");
  const { orgId } = caller;
  const user: User = {
    id: newId(),
    orgId,
    name: givenName(start.name),
    email: foldedEmail(start.email ?? null),
    externalId: start.externalId ?? null,
    role: start.role ?? "member",
    createdAt: deps.now(),
    disabledAt: null,
  };
  if (!(await deps.records.people.insertUser(user))) throw userExists();
  return user;
}

async function changeUser(
  deps: EngineDependencies,
  caller: Caller,
  { id, change: { disabled, email, ...rest } }: { id: string; change: UserChange },
): Promise<User> {
  const { disabledAt } = await userOfOrg(deps, caller, id);
  adminOnly(caller, "change people");
  const patch: UserPatch = {
    ...rest,
    ...(rest.name !== undefined && { name: givenName(rest.name) }),
    ...(email !== undefined && { email: foldedEmail(email) }),
    ...(disabled !== undefined && { disabledAt: disabled ? (disabledAt ?? deps.now()) : null }),
  };
  const update = await deps.records.people.updateUser(caller.orgId, id, patch);
  switch (update.outcome) {
    case "updated":
      return update.user;
    case "missing":
      throw new AptoveError("not_found", `there is no user ${JSON.stringify(id)}`);
    case "last_admin":
      throw new AptoveError("last_admin", "make another user an admin first: aptove user role <user> admin");
    case "taken":
      throw userExists();
  }
}

function userExists(): AptoveError {
  return new AptoveError("user_exists", "another user of the org has this email or external id; see: aptove user list");
}

/** Returns an email address in lower case. Addresses are compared without case. */
function foldedEmail(email: string | null): string | null {
  return email === null ? null : email.normalize("NFC").toLowerCase();
}

function actionOf({ disabled, role }: UserChange): AuditAction {
  if (disabled !== undefined) return disabled ? "user.disable" : "user.enable";
  return role === undefined ? "user.change" : "user.role";
}

function roleFact({ role }: Pick<UserChange, "role">): Record<string, string> {
  return role === undefined ? {} : { role };
}

/** Reads one page. It requests one item more than the page holds, to learn whether there is another page. */
export async function pageBy<Row extends CreationCursor>(
  { limit, after }: OldestFirstRequest,
  list: (page: { limit: number; after?: CreationCursor }) => Promise<Row[]>,
): Promise<{ rows: Row[]; next: CreationCursor | null }> {
  const max = pageLimit(limit);
  const found = await list({ limit: max + 1, ...(after !== undefined && { after }) });
  const rows = found.slice(0, max);
  const last = rows.at(-1);
  const isMore = found.length > max && last !== undefined;
  return { rows, next: isMore ? { createdAt: last.createdAt, id: last.id } : null };
}

/** The client's methods for orgs, users, keys, budgets and the audit log (H4, F11). */
import type { WireBudget, WireBudgetStart } from "../protocol/costs.ts";
import type { WireApiKey, WireCreatedKey, WireKeyStart } from "../protocol/key.ts";
import type { WireAuditEntry, WireOrg, WireUser, WireUserChange, WireUserStart } from "../protocol/people.ts";
import type { AnswerOf, QueryOf } from "../protocol/routes/routes.ts";
import type { WireSessionList } from "../protocol/session.ts";
import type { FetchJson, SendRequest } from "./send.ts";

export interface PeopleMethods {
  /** Returns an org. A caller can read only their own. */
  org(id: string): Promise<WireOrg>;
  renameOrg(id: string, name: string): Promise<WireOrg>;
  list(page?: QueryOf<"listUsers">): Promise<AnswerOf<"listUsers">>;
  get(id: string): Promise<WireUser>;
  /** Adds a user to the org. Throws `user_exists`. */
  add(user: WireUserStart): Promise<WireUser>;
  /** Changes a user. Throws `last_admin`, `user_exists`. */
  change(id: string, change: WireUserChange): Promise<WireUser>;
  /** Returns the user's sessions that the caller may see. */
  sessions(id: string, page?: QueryOf<"listUserSessions">): Promise<WireSessionList>;
}

export interface KeyMethods {
  /** Returns the caller's keys. An admin gets all keys of the org. */
  list(page?: QueryOf<"listKeys">): Promise<{ keys: WireApiKey[]; nextCursor: string | null }>;
  create(key: WireKeyStart): Promise<WireCreatedKey>;
  revoke(id: string): Promise<void>;
}

export interface BudgetMethods {
  /** Returns the budgets that the caller may see, with what is spent, reserved and left. */
  list(): Promise<WireBudget[]>;
  /** Makes a budget, or changes the one of the same target, period and unit. */
  set(budget: WireBudgetStart): Promise<WireBudget>;
  remove(id: string): Promise<void>;
}

/** Returns entries of the audit log, newest first. Requires an admin. */
export type ListAudit = (
  query?: QueryOf<"listAudit">,
) => Promise<{ entries: WireAuditEntry[]; nextCursor: string | null }>;

export function peopleMethods(call: FetchJson): PeopleMethods {
  return {
    org: (id) => call("getOrg", { id }),
    renameOrg: (id, name) => call("updateOrg", { id, body: { name } }),
    list: (query = {}) => call("listUsers", { query }),
    get: (id) => call("getUser", { id }),
    add: (body) => call("createUser", { body }),
    change: (id, body) => call("updateUser", { id, body }),
    sessions: (id, query = {}) => call("listUserSessions", { id, query }),
  };
}

export function budgetMethods(send: SendRequest, call: FetchJson): BudgetMethods {
  return {
    list: async () => (await call("listBudgets")).budgets,
    set: (body) => call("setBudget", { body }),
    remove: async (id) => void (await send("removeBudget", { id })),
  };
}

export function keyMethods(send: SendRequest, call: FetchJson): KeyMethods {
  return {
    list: (query = {}) => call("listKeys", { query }),
    create: (body) => call("createKey", { body }),
    revoke: async (id) => void (await send("revokeKey", { id })),
  };
}

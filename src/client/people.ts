/** What the client does with orgs, people, keys and the audit log (H4). */
import type { WireApiKey, WireCreatedKey, WireKeyStart } from "../protocol/key.ts";
import type { WireAuditEntry, WireOrg, WireUser, WireUserChange, WireUserStart } from "../protocol/people.ts";
import type { AnswerOf, QueryOf } from "../protocol/routes/routes.ts";
import type { WireSessionList } from "../protocol/session.ts";
import type { Call, Send } from "./send.ts";

export interface PeopleMethods {
  /** The caller's own. */
  org(id: string): Promise<WireOrg>;
  renameOrg(id: string, name: string): Promise<WireOrg>;
  list(page?: QueryOf<"listUsers">): Promise<AnswerOf<"listUsers">>;
  get(id: string): Promise<WireUser>;
  /** Throws `user_exists`. */
  add(user: WireUserStart): Promise<WireUser>;
  /** Throws `last_admin`, `user_exists`. */
  change(id: string, change: WireUserChange): Promise<WireUser>;
  /** Theirs, as far as the caller may see them. */
  sessions(id: string, page?: QueryOf<"listUserSessions">): Promise<WireSessionList>;
}

export interface KeyMethods {
  /** The caller's own; for an admin the org's. */
  list(page?: QueryOf<"listKeys">): Promise<{ keys: WireApiKey[]; nextCursor: string | null }>;
  create(key: WireKeyStart): Promise<WireCreatedKey>;
  revoke(id: string): Promise<void>;
}

/** Newest first. For admins. */
export type ListAudit = (
  query?: QueryOf<"listAudit">,
) => Promise<{ entries: WireAuditEntry[]; nextCursor: string | null }>;

export function peopleMethods(call: Call): PeopleMethods {
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

export function keyMethods(send: Send, call: Call): KeyMethods {
  return {
    list: (query = {}) => call("listKeys", { query }),
    create: (body) => call("createKey", { body }),
    revoke: async (id) => void (await send("revokeKey", { id })),
  };
}

/** The routes of orgs, users, keys, sharing, and the audit log (H4, S7). */
import * as z from "zod";
import { budgetListSchema, budgetSchema, budgetStartSchema } from "../costs.ts";
import { createdKeySchema, keyListSchema, keyListQuerySchema, keyStartSchema, meSchema } from "../key.ts";
import type { RouteName } from "./paths.ts";
import {
  auditListSchema,
  auditQuerySchema,
  orgSchema,
  orgPatchSchema,
  pageQuery,
  sharedSchema,
  sharingChangeSchema,
  userSchema,
  userChangeSchema,
  userListSchema,
  userStartSchema,
} from "../people.ts";
import type { RouteSpec } from "./route-spec.ts";
import { sessionListSchema } from "../session.ts";

export const peopleRoutes = {
  me: {
    summary: "Returns the caller: the owner of the key.",
    access: "read",
    status: 200,
    answer: meSchema,
    errors: [],
  },
  getOrg: { summary: "Returns the caller's own org.", access: "read", status: 200, answer: orgSchema, errors: [] },
  updateOrg: {
    summary: "Renames the caller's own org.",
    access: "admin",
    body: orgPatchSchema,
    status: 200,
    answer: orgSchema,
    errors: ["storage_full"],
  },

  listUsers: {
    summary: "Lists the users of the caller's org, oldest first.",
    access: "read",
    query: z.strictObject(pageQuery),
    status: 200,
    answer: userListSchema,
    errors: [],
  },
  createUser: {
    summary: "Adds a user to the caller's org. The user needs an API key to sign in.",
    access: "admin",
    body: userStartSchema,
    status: 201,
    answer: userSchema,
    errors: ["user_exists", "storage_full"],
  },
  getUser: {
    summary: "Returns a user of the caller's org.",
    access: "read",
    status: 200,
    answer: userSchema,
    errors: [],
  },
  updateUser: {
    summary:
      "Changes a user of the caller's org: name, email address, external id, role, or whether the user has access.",
    access: "admin",
    body: userChangeSchema,
    status: 200,
    answer: userSchema,
    errors: ["user_exists", "last_admin", "storage_full"],
  },
  listUserSessions: {
    summary:
      "Lists the sessions of a user of the caller's org that the caller may see, the most recently active first.",
    access: "read",
    query: z.strictObject(pageQuery),
    status: 200,
    answer: sessionListSchema,
    errors: [],
  },

  listKeys: {
    summary: "Lists the caller's API keys, or all keys of the org for an admin.",
    access: "read",
    query: keyListQuerySchema,
    status: 200,
    answer: keyListSchema,
    errors: [],
  },
  createKey: {
    summary:
      "Makes an API key for the caller, and returns its secret once. An admin can make a key for another user of the org.",
    access: "write",
    body: keyStartSchema,
    status: 201,
    answer: createdKeySchema,
    errors: ["not_found", "workspace_unknown", "storage_full"],
  },
  revokeKey: {
    summary: "Revokes an API key, and ends everything that it has open.",
    access: "write",
    status: 204,
    errors: [],
  },

  listBudgets: {
    summary:
      "Lists the budgets that the caller may see: of the caller, the caller's keys, org and sessions, and for an admin of all persons and keys of the org.",
    access: "read",
    status: 200,
    answer: budgetListSchema,
    errors: [],
  },
  setBudget: {
    summary:
      "Makes a budget, or changes the one of the same target, period and unit. An admin may do so for the org, its persons and keys; who may change a session, for that session.",
    access: "write",
    body: budgetStartSchema,
    status: 200,
    answer: budgetSchema,
    errors: ["not_found", "storage_full"],
  },
  removeBudget: {
    summary: "Removes a budget, and forgets what it has counted.",
    access: "write",
    status: 204,
    errors: ["storage_full"],
  },

  getSharing: {
    summary: "Returns whether a session is public in the org, and its participants.",
    access: "read",
    status: 200,
    answer: sharedSchema,
    errors: [],
  },
  changeSharing: {
    summary: "Shares a session with the org or with some of its users, or ends the sharing.",
    access: "write",
    body: sharingChangeSchema,
    status: 200,
    answer: sharedSchema,
    errors: ["storage_full"],
  },

  listAudit: {
    summary: "Lists what users of the org did, and what was refused to them, newest first.",
    access: "admin",
    query: auditQuerySchema,
    status: 200,
    answer: auditListSchema,
    errors: [],
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;

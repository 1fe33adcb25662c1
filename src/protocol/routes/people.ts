/** The routes of orgs, people, their keys, sharing, and the audit log (H4, S7). */
import { z } from "zod";
import { createdKey, keyList, keyListQuery, keyStart, me } from "../key.ts";
import type { RouteName } from "./paths.ts";
import {
  auditList,
  auditQuery,
  org,
  orgPatch,
  pageQuery,
  shared,
  sharingChange,
  user,
  userChange,
  userList,
  userStart,
} from "../people.ts";
import type { RouteSpec } from "./route-spec.ts";
import { sessionList } from "../session.ts";

export const peopleRoutes = {
  me: { summary: "Who the key belongs to.", access: "read", status: 200, answer: me, errors: [] },
  getOrg: { summary: "The caller's own org.", access: "read", status: 200, answer: org, errors: [] },
  updateOrg: {
    summary: "Renames the caller's own org.",
    access: "admin",
    body: orgPatch,
    status: 200,
    answer: org,
    errors: ["storage_full"],
  },

  listUsers: {
    summary: "The people of the caller's org, oldest first.",
    access: "read",
    query: z.strictObject(pageQuery),
    status: 200,
    answer: userList,
    errors: [],
  },
  createUser: {
    summary: "Adds somebody to the caller's org; they come in by a key that is made for them.",
    access: "admin",
    body: userStart,
    status: 201,
    answer: user,
    errors: ["user_exists", "storage_full"],
  },
  getUser: { summary: "Somebody of the caller's org.", access: "read", status: 200, answer: user, errors: [] },
  updateUser: {
    summary: "Changes somebody of the caller's org: name, address, role, whether they are let in.",
    access: "admin",
    body: userChange,
    status: 200,
    answer: user,
    errors: ["user_exists", "last_admin", "storage_full"],
  },
  listUserSessions: {
    summary: "Sessions of somebody of the caller's org, as far as the caller may see them; newest activity first.",
    access: "read",
    query: z.strictObject(pageQuery),
    status: 200,
    answer: sessionList,
    errors: [],
  },

  listKeys: {
    summary: "The caller's API keys; for an admin the org's.",
    access: "read",
    query: keyListQuery,
    status: 200,
    answer: keyList,
    errors: [],
  },
  createKey: {
    summary: "Makes an API key for the caller, or by an admin for somebody of the org, and shows its secret, once.",
    access: "write",
    body: keyStart,
    status: 201,
    answer: createdKey,
    errors: ["not_found", "storage_full"],
  },
  revokeKey: {
    summary: "Makes an API key worthless, and ends what it has open.",
    access: "write",
    status: 204,
    errors: [],
  },

  getSharing: {
    summary: "Whether a session is public in the org, and who takes part in it.",
    access: "read",
    status: 200,
    answer: shared,
    errors: [],
  },
  changeSharing: {
    summary: "Shares a session with the org, or with some of its people; or no more.",
    access: "write",
    body: sharingChange,
    status: 200,
    answer: shared,
    errors: ["storage_full"],
  },

  listAudit: {
    summary: "What the people of the org did, and were refused; newest first.",
    access: "admin",
    query: auditQuery,
    status: 200,
    answer: auditList,
    errors: [],
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;

/** Handlers for orgs, users, keys, sharing, and the audit log (H4, S7). */
import type { CreationCursor } from "../../../engine/engine.ts";
import { withoutNullish, withoutUndefined } from "../../../protocol/given.ts";
import { toWireKey } from "../../../protocol/key.ts";
import { toWireAuditEntry, toWireOrg, toWireUser } from "../../../protocol/people.ts";
import type { RouteName } from "../../../protocol/routes/paths.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";
import { formatCursor, parseCursor } from "./cursor.ts";
import { sessionWriter } from "./wire-session.ts";

type PersonRoute = "me" | "getOrg" | "updateOrg" | "listUsers" | "createUser" | "getUser" | "updateUser";
type KeyRoute = "listKeys" | "createKey" | "revokeKey";
type SharingRoute = "listUserSessions" | "getSharing" | "changeSharing";

export function peopleHandlers(
  door: HandlerDependencies,
): RouteHandlers<PersonRoute | KeyRoute | SharingRoute | "listAudit"> {
  return { ...personHandlers(door), ...keyHandlers(door), ...sharingHandlers(door), ...auditHandlers(door) };
}

function personHandlers({ engine: { people } }: HandlerDependencies): RouteHandlers<PersonRoute> {
  return {
    me: async ({ caller }) => {
      const [org, user] = await Promise.all([people.org(caller), people.self(caller)]);
      const { orgId, userId, role, deviceId = null, workspaceId = null } = caller;
      return answer("me", { orgId, orgName: org.name, userId, name: user.name, role, deviceId, workspaceId });
    },
    getOrg: async ({ caller, id }) => answer("getOrg", toWireOrg(await people.org(caller, id))),
    updateOrg: async ({ caller, id, body: { name } }) =>
      answer("updateOrg", toWireOrg(await people.renameOrg(caller, id, name))),
    listUsers: async ({ caller, query }) => {
      const { users, next } = await people.users(caller, pageOf("listUsers", query));
      return answer("listUsers", { users: users.map(toWireUser), nextCursor: cursorOf("listUsers", next) });
    },
    createUser: async ({ caller, body }) => {
      const user = await people.addUser(caller, { ...withoutUndefined(body), name: body.name });
      return answer("createUser", toWireUser(user), { location: `/api/users/${user.id}` });
    },
    getUser: async ({ caller, id }) => answer("getUser", toWireUser(await people.user(caller, id))),
    updateUser: async ({ caller, id, body }) =>
      answer("updateUser", toWireUser(await people.changeUser(caller, id, withoutUndefined(body)))),
  };
}

function keyHandlers({ engine: { keys } }: HandlerDependencies): RouteHandlers<KeyRoute> {
  return {
    listKeys: async ({ caller, query: { userId, ...query } }) => {
      const { keys: found, next } = await keys.list(caller, {
        ...pageOf("listKeys", query),
        ...withoutNullish({ userId }),
      });
      return answer("listKeys", { keys: found.map(toWireKey), nextCursor: cursorOf("listKeys", next) });
    },
    createKey: async ({ caller, body: { name, userId, expiresAt, workspaceId, limits } }) => {
      const until = expiresAt === undefined ? undefined : Date.parse(expiresAt);
      const { key, secret } = await keys.create(caller, {
        name,
        ...withoutNullish({ userId, expiresAt: until, workspaceId }),
        ...(limits !== undefined && {
          limits: { concurrentRunsMax: null, requestsPerMinuteMax: null, ...withoutNullish(limits) },
        }),
      });
      return answer("createKey", { key: toWireKey(key), secret });
    },
    revokeKey: async ({ caller, id }) => {
      await keys.revoke(caller, id);
      return new Response(null, { status: 204 });
    },
  };
}

function sharingHandlers({ engine }: HandlerDependencies): RouteHandlers<SharingRoute> {
  const write = sessionWriter(engine);
  return {
    listUserSessions: async ({ caller, id, query: { cursor, limit } }) => {
      await engine.people.user(caller, id);
      const after = cursor === undefined ? undefined : parseCursor("listUserSessions", cursor);
      const page = withoutNullish({ limit, after: after && { activeAt: after.at, id: after.id } });
      const { sessions, next, hidden } = await engine.sessions.list(caller, { ...page, memberId: id });
      const nextCursor = next === null ? null : formatCursor("listUserSessions", { at: next.activeAt, id: next.id });
      return answer("listUserSessions", { sessions: await write.all(caller, sessions), nextCursor, hidden });
    },
    getSharing: async ({ caller, id }) => {
      const { session, participants } = await engine.sharing.of(caller, id);
      return answer("getSharing", { session: await write.one(caller, session), participants });
    },
    changeSharing: async ({ caller, id, body }) => {
      const { session, participants } = await engine.sharing.change(caller, id, withoutUndefined(body));
      return answer("changeSharing", { session: await write.one(caller, session), participants });
    },
  };
}

function auditHandlers({ engine }: HandlerDependencies): RouteHandlers<"listAudit"> {
  return {
    listAudit: async ({ caller, query: { cursor, from, until, ...query } }) => {
      const after = cursor === undefined ? undefined : parseCursor("listAudit", cursor);
      const times = {
        ...(from !== undefined && { from: Date.parse(from) }),
        ...(until !== undefined && { until: Date.parse(until) }),
      };
      const { entries, next } = await engine.audit.list(caller, { ...withoutNullish({ ...query, after }), ...times });
      const nextCursor = next === null ? null : formatCursor("listAudit", next);
      return answer("listAudit", { entries: entries.map(toWireAuditEntry), nextCursor });
    },
  };
}

interface PageQuery {
  limit?: number | undefined;
  cursor?: string | undefined;
}

function pageOf(list: RouteName, { limit, cursor }: PageQuery): { limit?: number; after?: CreationCursor } {
  const position = cursor === undefined ? undefined : parseCursor(list, cursor);
  return withoutNullish({ limit, after: position && { createdAt: position.at, id: position.id } });
}

function cursorOf(list: RouteName, next: CreationCursor | null): string | null {
  return next === null ? null : formatCursor(list, { at: next.createdAt, id: next.id });
}

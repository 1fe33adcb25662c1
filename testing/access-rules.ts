/** What each caller may do, worked out from the rules of docs/people.md, not from what the program does (S3, S7, H4). */
import type { Outcome, Who } from "./access-world.ts";

/** The relation of a caller to the owner's session. */
export type Standing = "owner" | "participant" | "colleague" | "none";
export type Rule = (who: Who, standing: Standing) => Outcome;

const roles: Record<Who, "admin" | "member" | "reader" | null> = {
  owner: "member",
  participant: "member",
  colleague: "member",
  admin: "admin",
  reader: "reader",
  device: "member",
  stranger: "admin",
  revoked: null,
  expired: null,
  disabled: null,
  anonymous: null,
};

export function standingOf(who: Who, isPublic: boolean): Standing {
  if (who === "owner" || who === "participant") return who;
  const isOfOrg = who === "colleague" || who === "admin" || who === "reader";
  return isOfOrg && isPublic ? "colleague" : "none";
}

export const isKnown = (who: Who): boolean => roles[who] !== null;
const isOfOrg = (who: Who): boolean => isKnown(who) && who !== "stranger";
/** The role is checked first, so a refusal does not reveal what exists. */
const keyed =
  (rule: Rule): Rule =>
  (who, standing) =>
    isKnown(who) ? rule(who, standing) : "unauthenticated";
const writing = (rule: Rule): Rule =>
  keyed((who, standing) => (roles[who] === "reader" ? "forbidden" : rule(who, standing)));
const admins = (rule: Rule): Rule =>
  keyed((who, standing) => (roles[who] === "admin" ? rule(who, standing) : "forbidden"));
const seen =
  (rule: Rule): Rule =>
  (who, standing) =>
    standing === "none" ? "not_found" : rule(who, standing);
const ifSo = (isAllowed: boolean): Outcome => (isAllowed ? "ok" : "forbidden");

const workspaceOfServer: Rule = (who) => (who === "admin" ? "ok" : "workspace_unknown");

const continuing = writing(seen((_who, standing) => ifSo(standing !== "colleague")));

export const rules = {
  everybody: () => "ok",
  anyKey: keyed(() => "ok"),
  anyWriter: writing(() => "ok"),
  anyAdmin: admins(() => "ok"),
  noDevice: keyed((who) => ifSo(who !== "device")),
  writerNoDevice: writing((who) => ifSo(who !== "device")),
  runsTheServer: admins((who) => ifSo(who === "admin")),
  /** The workspaces belong to those who run the server, and do not exist for others. */
  workspaceOfServer: keyed(workspaceOfServer),
  writesWorkspace: writing(workspaceOfServer),
  comesInByAcp: keyed((who) => ifSo(who === "admin")),
  ownOrg: keyed((who) => (isOfOrg(who) ? "ok" : "not_found")),
  ownOrgAdmin: admins((who) => (isOfOrg(who) ? "ok" : "not_found")),
  read: keyed(seen(() => "ok")),
  continue: continuing,
  /** The turn leads to the session, which does not exist for a caller who may not see it. */
  continueOnce: keyed(seen((who, standing) => continuing(who, standing))),
  stop: writing(seen((who, standing) => ifSo(standing !== "colleague" || who === "admin"))),
  change: writing(seen((who, standing) => ifSo(standing === "owner" || who === "admin"))),
  /** A deleted session is in no list. It exists only for callers who may restore it. */
  removed: writing((who, standing) =>
    standing === "owner" || (who === "admin" && standing === "colleague") ? "ok" : "not_found",
  ),
  fork: writing(seen(() => "ok")),
  /** A thread that the caller does not see is a new one of their own. */
  thread: writing((_who, standing) => ifSo(standing !== "colleague")),
  /** Only the user who made a code sees it. */
  ownersCode: keyed((who) => (who === "owner" || who === "device" ? "ok" : "not_found")),
  ownersKey: writing((who) =>
    who === "device" ? "forbidden" : who === "owner" || who === "admin" ? "ok" : "not_found",
  ),
  ownersDevice: writing((who) =>
    who === "device" ? "forbidden" : who === "owner" || who === "admin" ? "ok" : "not_found",
  ),
} satisfies Record<string, Rule>;

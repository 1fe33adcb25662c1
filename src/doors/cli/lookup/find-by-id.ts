/**
 * Finds sessions, turns and workspaces by ids as people type them. An id begins with its creation time, so ids differ
 * at their ends: the last eight characters are its short form. Any unambiguous beginning or end of an id is accepted,
 * and also a beginning of the short form.
 */
import { distance } from "fastest-levenshtein";
import type { AptoveClient, WireMe, WireSession } from "../../../client/client.ts";
import { isId } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import { defaultWorkspaceId } from "../../../workspace/workspace-store.ts";
import { CommandFailed, UsageError } from "../failure.ts";

/** Returns the shortest ends that tell these ids apart, with at least eight characters. */
export function shortIds(ids: readonly string[]): Map<string, string> {
  for (let length = 8; length < 36; length++) {
    const ends = new Set(ids.map((id) => id.slice(-length)));
    if (ends.size === new Set(ids).size) return new Map(ids.map((id) => [id, id.slice(-length)]));
  }
  return new Map(ids.map((id) => [id, id]));
}

export function shortId(id: string): string {
  return id.slice(-8);
}

/** Returns the name of a turn by its session and number, as `findTurnId` takes it. */
export function numberedName({ sessionId, sequence }: { sessionId: string; sequence: number }): string {
  return `${shortId(sessionId)}:${sequence}`;
}

/** How many sessions are searched for a part of an id, newest first. */
const searchedSessionsMax = 2_000;
const searchedTurnSessionsMax = 50;

/** Finds the session of an id, of a part of an id, or of the word `last`. */
export async function findSession(client: AptoveClient, text: string, repo: string): Promise<WireSession> {
  if (isId(text.toLowerCase())) return await client.sessions.get(text.toLowerCase());
  if (text === "last") return await lastSession(client, repo);
  refuseShort(text, "aptove session list");
  const found: WireSession[] = [];
  for await (const session of eachSession(client, searchedSessionsMax)) {
    if (matches(session.id, text)) found.push(session);
  }
  return theOnly(found, { what: "session", text, list: "aptove session list" });
}

/** Finds the named session. Without an id: the one that `last` means. */
export async function namedSession(client: AptoveClient, text: string | undefined, repo: string): Promise<WireSession> {
  return await findSession(client, text ?? "last", repo);
}

/**
 * Finds the newest session of this repository that belongs to the caller and accepts turns. A folder outside of git has
 * no repository; its sessions have its name as their workspace.
 */
export async function latestSession(client: AptoveClient, repo: string): Promise<WireSession> {
  const { own, seen, me } = await newestSessions(client, repo);
  if (own !== null) return own;
  if (seen === null) throw noSession(repo, me.role);
  const fix = "see them with: aptove session list; continue one that you take part in with --session <id>";
  throw new CommandFailed("not_found", `none of the sessions about ${repo} is yours`, fix);
}

/** The same. Null: there is none. */
export async function newestSession(client: AptoveClient, repo: string): Promise<WireSession | null> {
  return (await newestSessions(client, repo)).own;
}

/** Finds what `last` means: the caller's newest session of this repository, or without any the newest that the caller may read. */
async function lastSession(client: AptoveClient, repo: string): Promise<WireSession> {
  const { own, seen, me } = await newestSessions(client, repo);
  const last = own ?? seen;
  if (last === null) throw noSession(repo, me.role);
  return last;
}

function noSession(repo: string, role: WireMe["role"]): CommandFailed {
  const fix = role === "reader" ? "see what you may read: aptove session list" : startFix;
  return new CommandFailed("not_found", `there is no session about ${repo} yet`, fix);
}

const startFix = 'start one: aptove ask "…"; sessions that this folder had under another name: aptove doctor --attach';

interface NewestSessions {
  me: WireMe;
  /** The newest that belongs to the caller. */
  own: WireSession | null;
  /** The newest of those that the caller may read. */
  seen: WireSession | null;
}

async function newestSessions(client: AptoveClient, repo: string): Promise<NewestSessions> {
  const [me, ...lists] = await Promise.all([
    client.me(),
    client.sessions.list({ repo, archived: false, limit: 20 }),
    client.sessions.list({ workspaceId: repo, archived: false, limit: 20 }),
  ]);
  const all = lists
    .flatMap(({ sessions }) => sessions)
    .toSorted((one, other) => Date.parse(other.activeAt) - Date.parse(one.activeAt));
  return { me, own: all.find(({ userId }) => userId === me.userId) ?? null, seen: all[0] ?? null };
}

/**
 * Finds the turn of an id, of a part of an id, of `<session>:<number>`, or of the word `last`: the head of the newest
 * session.
 */
export async function findTurnId(client: AptoveClient, text: string, repo: string): Promise<string> {
  if (isId(text.toLowerCase())) return text.toLowerCase();
  if (text === "last") return headOf(await lastSession(client, repo));
  const numbered = /^(.+):(\d{1,9})$/.exec(text);
  if (numbered !== null) {
    const session = await findSession(client, numbered[1] ?? "", repo);
    return await turnNumbered(client, session, Number(numbered[2]));
  }
  refuseShort(text, "aptove session log");
  const found: { id: string }[] = [];
  for await (const session of eachSession(client, searchedTurnSessionsMax)) {
    const { turns } = await client.sessions.turns(session.id, { limit: limits.pageSizeMax });
    found.push(...turns.filter((turn) => matches(turn.id, text)));
  }
  return theOnly(found, { what: "turn", text, list: "aptove session log" }).id;
}

/** Finds the turn with this sequence number. */
export async function turnNumbered(client: AptoveClient, session: WireSession, number: number): Promise<string> {
  const { turns } = await client.sessions.turns(session.id, { before: number + 1, limit: 1 });
  const found = turns.find((turn) => turn.sequence === number);
  if (found !== undefined) return found.id;
  const fix = session.turnCount === 0 ? await fixOfEmpty(client, session) : `it has 1 to ${session.turnCount}`;
  throw new CommandFailed("not_found", `the session ${shortId(session.id)} has no turn ${number}`, fix);
}

/** A fork has none of the turns above it, and `last` means the fork from the moment that it is there. */
async function fixOfEmpty(client: AptoveClient, { id, originTurnId }: WireSession): Promise<string> {
  if (originTurnId === null) return `it has no turn yet; begin it: aptove ask --session ${shortId(id)} "…"`;
  const origin = await client.turns.summary(originTurnId);
  return `it is a fork that has no turn of its own yet; it was forked from turn ${numberedName(origin)}`;
}

/**
 * Finds a turn to continue from: the head of a session, or a turn. A text that fits both means the session, since the
 * first turn has the same id as its session (S4).
 */
export async function findContinuable(client: AptoveClient, text: string, repo: string): Promise<string> {
  if (text.includes(":")) return await findTurnId(client, text, repo);
  const session = await nullIfNotFound(findSession(client, text, repo));
  return session === null ? await findTurnId(client, text, repo) : headOf(session);
}

function headOf(session: WireSession): string {
  if (session.headTurnId !== null) return session.headTurnId;
  const fix = "wait for its turn, or name a turn: aptove session log";
  throw new CommandFailed("not_found", `the session ${shortId(session.id)} has no finished turn yet`, fix);
}

/** Returns null if the promise rejects with `not_found`, or with the code that is given. */
export async function nullIfNotFound<T>(found: Promise<T>, code = "not_found"): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === code) return null;
    throw error;
  }
}

/** Finds the caller's deleted session by its id or a part of it. */
export async function findRemoved(client: AptoveClient, text: string): Promise<WireSession> {
  const asked = { what: "deleted session", text, list: "aptove session list --removed" };
  return findById(await client.sessions.listRemoved(), asked);
}

/** Finds the only one that has the text as its id or as a part of it. `list` is the command that lists them. */
export function findById<T extends { id: string }>(
  all: readonly T[],
  asked: { what: string; text: string; list: string },
): T {
  refuseShort(asked.text, asked.list);
  return theOnly(withPart(all, asked.text), asked);
}

/** Returns those that have the text as their id or as a part of it. */
function withPart<T extends { id: string }>(all: readonly T[], text: string): T[] {
  return isPart(text) ? all.filter(({ id }) => matches(id, text)) : [];
}

/** Finds the workspace of an id, of a part of an id, of the word `default`, or of its exact name. Throws `workspace_unknown`. */
export function findWorkspace<T extends { id: string; name?: string | null }>(
  workspaces: readonly T[],
  text: string,
): T {
  const standard = workspaces.find(({ id }) => id === text);
  if (standard !== undefined) return standard;
  const fits = thoseNamed(workspaces, text);
  if (fits.length > 0)
    return theOnly(fits, {
      what: "workspace",
      text,
      list: workspaceList,
      several: `give the id as ${workspaceList} shows it`,
    });
  throw new CommandFailed("workspace_unknown", `there is no workspace "${text}"`, fixOfUnknown(workspaces, text));
}

const workspaceList = "aptove workspace list";

function fixOfUnknown<T extends { id: string; name?: string | null }>(workspaces: readonly T[], text: string): string {
  const near = nearWorkspace(workspaces, text);
  if (near !== null) return `did you mean ${near.id}${near.name == null ? "" : `, ${JSON.stringify(near.name)}`}?`;
  if (isPart(text) || text === defaultWorkspaceId) return `see: ${workspaceList}`;
  return `give its whole name, or at least 4 characters of the beginning or end of its id; see: ${workspaceList}`;
}

/** Returns those that have the text as their name, or as their id or a part of it. */
export function thoseNamed<T extends { id: string; name?: string | null }>(
  workspaces: readonly T[],
  text: string,
): T[] {
  const byId = new Set(withPart(workspaces, text));
  return workspaces.filter((each) => each.name === text || byId.has(each));
}

/** Returns the workspace whose name or short id is similar to what was typed. */
function nearWorkspace<T extends { id: string; name?: string | null }>(
  workspaces: readonly T[],
  text: string,
): T | null {
  if (text.length < 3 || text.length > limits.workspaceNameCharactersMax) return null;
  const wanted = text.toLowerCase();
  const away = ({ id, name }: T): number =>
    Math.min(...[name ?? "", shortId(id)].map((known) => distance(known.toLowerCase(), wanted)));
  const [nearest] = workspaces.map((each) => ({ each, steps: away(each) })).toSorted((a, b) => a.steps - b.steps);
  return nearest !== undefined && nearest.steps <= Math.min(2, text.length / 3) ? nearest.each : null;
}

async function* eachSession(client: AptoveClient, max: number): AsyncGenerator<WireSession> {
  let cursor: string | undefined;
  for (let seen = 0; seen < max;) {
    const page = await client.sessions.list({ limit: limits.pageSizeMax, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.sessions;
    seen += page.sessions.length;
    if (page.nextCursor === null) return;
    cursor = page.nextCursor;
  }
}

function isPart(text: string): boolean {
  return /^[0-9a-f-]{4,36}$/i.test(text);
}

function refuseShort(text: string, list: string): void {
  if (isPart(text)) return;
  throw new UsageError(`"${text}" is not an id`, `give at least 4 characters of its beginning or end; see: ${list}`);
}

function matches(id: string, text: string): boolean {
  const part = text.toLowerCase();
  return id.endsWith(part) || id.startsWith(part) || shortId(id).startsWith(part);
}

interface AskedFor {
  what: string;
  text: string;
  list: string;
  /** The fix if several fit. Two workspaces of one name differ in their ids only, and not in the end of what was typed. */
  several?: string;
}

function theOnly<T extends { id: string }>(found: T[], asked: AskedFor): T {
  const [first, second] = found;
  const { what, text, list, several = "give more of its end" } = asked;
  if (first === undefined) throw new CommandFailed("not_found", `there is no ${what} "${text}"`, `see: ${list}`);
  if (second === undefined) return first;
  const some = found.slice(0, 5).map((each) => each.id);
  throw new UsageError(`"${text}" matches ${found.length} ${what}s: ${some.join(", ")}`, several);
}

/** Creates, changes and lists sessions, and reads their mailboxes (S1–S5, S7). */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { givenName } from "../../domain/given-name.ts";
import { inheritedMarks } from "../../domain/pin.ts";
import type { Session, StandingChoice, SessionPatch } from "../../domain/session.ts";
import { repositoriesFault, repositoryNames } from "../../domain/repositories.ts";
import { mayBeParent, type Turn } from "../../domain/turn.ts";
import { withProviderContexts } from "../contexts/model-words.ts";
import { settingsOf } from "../contexts/resolve-contexts.ts";
import { changedChoice, standingChoice } from "../contexts/session-choice.ts";
import { knownContexts } from "../contexts/known-contexts.ts";
import { limits } from "../../domain/limits.ts";
import { pageLimit, scopeOf, workspaceFor, workspaceOfNew } from "../access/access.ts";
import type {
  MailboxRequest,
  SessionListPage,
  SessionListRequest,
  SessionMailbox,
  Sessions,
  SessionStart,
} from "../engine.ts";
import type { EngineDependencies } from "../dependencies.ts";
import { changeableSession, maySee, mayWrite, visibleSession, visibleTurn } from "../access/visible.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { blankSession } from "../turn/new-session.ts";
import { attachments } from "./attachments.ts";
import { costsOf } from "./costs.ts";
import { pins } from "./pins.ts";
import { SessionWatch } from "./session-watch.ts";
import { turnNames } from "./turn-names.ts";

export function sessions(core: EngineCore): Omit<Sessions, "summaries" | "update"> {
  const { deps } = core;
  const changes = new SessionWatch(core);
  return {
    changes: (caller, listener) => changes.follow(caller, listener),
    create: (caller, start) => createSession(deps, caller, start),
    get: (caller, id) => visibleSession(deps, caller, id),
    list: (caller, page) => listSessions(deps, caller, page),
    lastTurns: (caller, of) => lastTurns(deps, caller, of),
    attachments: attachments(deps),
    pins: pins(core),
    turnNames: turnNames(core),
    costs: (caller, period) => costsOf(deps, caller, period),
    mailbox: (caller, sessionId, page) => readMailbox(deps, caller, { ...page, sessionId }),
  };
}

/**
 * Creates a session without a turn. With `forkOf`, it continues a finished turn of any session that the caller may read
 * (T6, K1).
 */
export async function createSession(deps: EngineDependencies, caller: Caller, start: SessionStart): Promise<Session> {
  mayWrite(caller);
  const origin = start.forkOf === undefined ? null : await forkOrigin(deps, caller, start.forkOf);
  const from = origin?.session ?? null;
  const name = start.name === undefined ? (from?.name ?? "Untitled") : givenName(start.name);
  const workspaceId = workspaceOfNew(caller, start.workspaceId ?? from?.workspaceId);
  const settings = await settingsOf(deps, caller, workspaceId);
  const known = await knownContexts(deps, caller, withProviderContexts(settings));
  const choice = changedChoice(known, standingChoice(known, from), start);
  const { repo, otherRepos } = repositoriesOf(start, from);
  const defaultLanguage = start.defaultLanguage ?? from?.defaultLanguage;
  const session = blankSession({
    id: newId(),
    caller,
    now: deps.now(),
    start: {
      ...start,
      name,
      ...(workspaceId !== null && { workspaceId }),
      ...(repo !== null && { repo }),
      otherRepos,
      ...(defaultLanguage != null && { defaultLanguage }),
    },
    choice,
    nameIsSet: start.name !== undefined || from?.nameIsSet === true,
    originTurnId: origin?.turn.id ?? null,
    pins: inheritedMarks(from?.pins ?? [], origin?.turn.depth ?? 0),
    turnNames: inheritedMarks(from?.turnNames ?? [], origin?.turn.depth ?? 0),
  });
  await deps.records.sessions.insert(session);
  return session;
}

/**
 * Returns the repositories of a new session: those that it names, or those of the session that it is forked from (M7). One of the
 * latter stands for all of them, for example if its folder is open in an editor. Throws `request_invalid`.
 */
function repositoriesOf(start: SessionStart, from: Session | null): Pick<Session, "repo" | "otherRepos"> {
  const { otherRepos = [] } = start;
  const inherited = from === null ? [] : repositoryNames(from);
  const isInherited = otherRepos.length === 0 && (start.repo === undefined || inherited.includes(start.repo));
  if (from !== null && isInherited) return { repo: from.repo, otherRepos: from.otherRepos };
  const repo = start.repo ?? from?.repo ?? null;
  if (otherRepos.length === 0) return { repo, otherRepos: [] };
  if (repo === null) {
    throw new AptoveError("request_invalid", "otherRepos needs a repo, which is the first of the session");
  }
  const fault = repositoriesFault([repo, ...otherRepos]);
  if (fault !== null) throw new AptoveError("request_invalid", fault);
  return { repo, otherRepos };
}

async function forkOrigin(
  deps: EngineDependencies,
  caller: Caller,
  turnId: string,
): Promise<{ turn: Turn; session: Session }> {
  const turn = await visibleTurn(deps, caller, turnId);
  if (!mayBeParent(turn)) {
    throw new AptoveError("turn_not_continuable", `turn ${turn.id} is ${turn.status}; fork a completed one`, {
      facts: { turnId: turn.id, status: turn.status },
    });
  }
  return { turn, session: await visibleSession(deps, caller, turn.sessionId) };
}

export async function updateSession(
  deps: EngineDependencies,
  caller: Caller,
  { id, patch }: { id: string; patch: SessionPatch },
): Promise<Session> {
  const session = await changeableSession(deps, caller, id);
  const named = patch.name !== undefined && { name: givenName(patch.name) };
  const change = { ...patch, ...named, ...(await chosenBy(deps, caller, { session, patch })) };
  const updated = await deps.records.sessions.update(id, change, deps.now());
  if (updated === null) throw new AptoveError("not_found", `there is no session "${id}"`);
  return updated;
}

/** Returns what a patch changes of the session's choice (S9). Another context clears what was chosen before it (G2). */
async function chosenBy(
  deps: EngineDependencies,
  caller: Caller,
  { session, patch: { settings, ...patch } }: { session: Session; patch: SessionPatch },
): Promise<Partial<StandingChoice>> {
  const { agentContextId, conversationContextId, model } = patch;
  if ([agentContextId, conversationContextId, model].every((value) => value === undefined)) return {};
  const configured = await settingsOf(deps, caller, workspaceFor(caller, session.workspaceId));
  const known = await knownContexts(deps, caller, withProviderContexts(configured));
  const choice = changedChoice(known, standingChoice(known, session), patch);
  return settings === undefined ? choice : { ...choice, settings };
}

async function listSessions(
  deps: EngineDependencies,
  caller: Caller,
  page: SessionListRequest,
): Promise<SessionListPage> {
  const { workspaceId } = caller;
  const isElsewhere = workspaceId !== undefined && page.workspaceId !== undefined && page.workspaceId !== workspaceId;
  if (isElsewhere) return { sessions: [], next: null, hidden: null };
  const query = { ...page, ...scopeOf(caller), limit: pageLimit(page.limit) };
  const found = await deps.records.sessions.list(query);
  return { ...found, hidden: await hiddenByFilters(deps, caller, page) };
}

/** Counts what the filters of the first page hide, so that no one looks in vain for a session (S7). */
async function hiddenByFilters(
  { records }: EngineDependencies,
  caller: Caller,
  { limit: _limit, after, archived, ...filters }: SessionListRequest,
): Promise<number | null> {
  if (after !== undefined || Object.values(filters).every((value) => value === undefined)) return null;
  const all = { ...scopeOf(caller), ...(archived !== undefined && { archived }) };
  return (await records.sessions.count(all)) - (await records.sessions.count({ ...filters, ...all }));
}

async function lastTurns(deps: EngineDependencies, caller: Caller, of: readonly Session[]): Promise<Turn[]> {
  const seen = await Promise.all(of.map(async (one) => ((await maySee(deps, caller, one)) ? [one.id] : [])));
  return await deps.records.turns.listLast(seen.flat());
}
/** Returns the messages of a session's subagents, and which of their turns are running. */
async function readMailbox(
  deps: EngineDependencies,
  caller: Caller,
  { sessionId, limit, ...page }: MailboxRequest & { sessionId: string },
): Promise<SessionMailbox> {
  await visibleSession(deps, caller, sessionId);
  const messages = await deps.records.subagents.listMail(sessionId, { ...page, limit: pageLimit(limit) });
  const turns = await deps.records.subagents.listTurns(sessionId, { limit: limits.subagentTurnsPerSessionMax });
  const runningTurnIds = turns.flatMap(({ id, status }) => (status === "pending" ? [id] : []));
  return { messages, runningTurnIds };
}

/** Handlers for sessions (S1, S7). */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import type { Session, SessionPatch } from "../../../domain/session.ts";
import type { Turn } from "../../../domain/turn.ts";
import type { Engine, SessionStart } from "../../../engine/engine.ts";
import { withoutNullish, withoutUndefined } from "../../../protocol/given.ts";
import { formatCursor, parseCursor } from "./cursor.ts";
import { toWireTurn, toWireTurnSummary, type WireTurnList } from "../../../protocol/turn.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";
import type { WireSessionPatch } from "../../../protocol/session.ts";
import { sessionWriter } from "./wire-session.ts";

type SessionRoute =
  | "listSessions"
  | "createSession"
  | "getSession"
  | "updateSession"
  | "listTurns"
  | "getLastTurn"
  | "interruptSession"
  | "steerSession";

export function sessionHandlers({ engine }: HandlerDependencies): RouteHandlers<SessionRoute> {
  const write = sessionWriter(engine);
  return {
    listSessions: async ({ caller, query: { removed, ...query } }) => {
      if (removed === true) {
        const sessions = await engine.tree.listRemoved(caller);
        return answer("listSessions", { sessions: await write.all(caller, sessions), nextCursor: null, hidden: null });
      }
      const { cursor, metadata, activeFrom, activeUntil, ...filters } = query;
      const position = cursor === undefined ? undefined : parseCursor("listSessions", cursor);
      const after = position && { activeAt: position.at, id: position.id };
      const times = { activeFrom: timeOf(activeFrom), activeUntil: timeOf(activeUntil) };
      const wanted = withoutNullish({ ...filters, ...times, metadata: metadataOf(metadata), after });
      const { sessions, next, hidden } = await engine.sessions.list(caller, wanted);
      const nextCursor = next === null ? null : formatCursor("listSessions", { at: next.activeAt, id: next.id });
      return answer("listSessions", { sessions: await write.all(caller, sessions), nextCursor, hidden });
    },
    createSession: async ({ caller, body: { settings, ...body } }) => {
      const session = await newSession(engine, caller, { ...withoutNullish(body), ...settingsOf(settings) });
      return answer("createSession", await write.one(caller, session), { location: `/api/sessions/${session.id}` });
    },
    getSession: async ({ caller, id }) =>
      answer("getSession", await write.one(caller, await engine.sessions.get(caller, id))),
    updateSession: async ({ caller, id, body: { settings, ...body } }) => {
      const patch = { ...withoutUndefined(body), ...settingsOf(settings) };
      return answer("updateSession", await write.one(caller, await engine.sessions.update(caller, id, patch)));
    },
    listTurns: async ({ caller, id, query }) => {
      const limit = query.limit ?? limits.pageSizeDefault;
      const turns = await engine.turns.list(caller, id, { ...withoutNullish({ before: query.before }), limit });
      const last = turns.at(-1);
      // Sequence numbers count from 1 without gaps (T1), so the page with turn 1 is the last one.
      const nextBefore = last === undefined || last.sequence === 1 ? null : last.sequence;
      const isWhole = query.texts === "whole";
      const wire = isWhole ? await wholeTexts(engine, caller, turns) : turns.map(toWireTurnSummary);
      return answer("listTurns", { turns: wire, nextBefore });
    },
    getLastTurn: async ({ caller, id }) => {
      const [last] = await engine.turns.list(caller, id, { limit: 1, kind: "agent" });
      if (last === undefined) throw new AptoveError("not_found", "the session has no turn yet");
      const reader = await engine.turns.read(caller, last.id);
      return answer("getLastTurn", toWireTurn(reader.turn, await reader.steps()));
    },
    interruptSession: async ({ caller, id }) =>
      answer("interruptSession", { interruptedTurnId: await engine.turns.interrupt(caller, { sessionId: id }) }),
    steerSession: async ({ caller, id, body }) =>
      answer("steerSession", { steeredTurnId: await engine.turns.steer(caller, { sessionId: id, ...body }) }),
  };
}

async function newSession(
  engine: Engine,
  caller: Caller,
  { continueWorkspace, ...start }: SessionStart & { continueWorkspace?: boolean },
): Promise<Session> {
  const { workspaceId } = start;
  if (continueWorkspace !== true || workspaceId === undefined) return await engine.sessions.create(caller, start);
  return (await engine.workspaceSessions.begin(caller, { ...start, workspaceId })).session;
}

function settingsOf(settings: WireSessionPatch["settings"]): Pick<SessionPatch, "settings"> {
  return settings === undefined ? {} : { settings: withoutNullish(settings) };
}

/** Reads the texts of the turns one after the other, so that a page costs no more memory than its answer. */
async function wholeTexts(engine: Engine, caller: Caller, turns: readonly Turn[]): Promise<WireTurnList["turns"]> {
  const wire: WireTurnList["turns"] = [];
  for (const turn of turns) {
    const reader = await engine.turns.read(caller, turn.id);
    const faults: string[] = [];
    // A damaged turn must not make the others unreadable.
    const orFault = async (text: Promise<string>): Promise<string | undefined> => {
      try {
        return await text;
      } catch (error) {
        if (!isDamage(error)) throw error;
        if (!faults.includes(error.message)) faults.push(error.message);
        return undefined;
      }
    };
    const texts = { instruction: await orFault(reader.instruction()), answer: await orFault(reader.answer()) };
    wire.push({ ...toWireTurnSummary(turn), ...withoutUndefined(texts), ...(faults.length > 0 && { faults }) });
  }
  return wire;
}

function isDamage(error: unknown): error is AptoveError {
  return error instanceof AptoveError && (error.code === "blob_missing" || error.code === "blob_damaged");
}

function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text);
}

/** Reads `key` or `key=value`. */
function metadataOf(text: string | undefined): { key: string; value?: string } | undefined {
  if (text === undefined) return undefined;
  const at = text.indexOf("=");
  return at < 0 ? { key: text } : { key: text.slice(0, at), value: text.slice(at + 1) };
}

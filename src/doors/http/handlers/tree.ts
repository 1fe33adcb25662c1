/** Handlers for the tree of sessions: the head, archiving, deleting, the graph, search (S5, S6, S8, T6, K4), and verifying (D2). */
import assert from "node:assert/strict";
import type { Caller } from "../../../domain/caller.ts";
import { isoTime } from "../../../domain/ids.ts";
import type { Session } from "../../../domain/session.ts";
import { withoutNullish } from "../../../protocol/given.ts";
import { limits } from "../../../domain/limits.ts";
import type { Turn } from "../../../domain/turn.ts";
import type { ForestSession } from "../../../engine/engine.ts";
import type { WireSession } from "../../../protocol/session.ts";
import type { WireForest } from "../../../protocol/tree.ts";
import { toWireTurnSummary, type WireTurnSummary } from "../../../protocol/turn.ts";
import { formatCursor, parseCursor } from "./cursor.ts";
import { toWireTurnNames } from "../../../protocol/manifest/turn-name.ts";
import { answer, type RouteCall, type HandlerDependencies, type RouteHandlers } from "./handler.ts";
import { sessionWriter } from "./wire-session.ts";

type MarkRoute = "archiveSession" | "unarchiveSession" | "removeSession" | "restoreSession";
type TreeRoute =
  | MarkRoute
  | "moveHead"
  | "listHeadMoves"
  | "undo"
  | "purgeSession"
  | "getGraph"
  | "getForest"
  | "search"
  | "verifySession"
  | "sessionSize"
  | "getSizes"
  | "collectGarbage";

export function treeHandlers({ engine }: HandlerDependencies): RouteHandlers<TreeRoute> {
  const { tree } = engine;
  const write = sessionWriter(engine);
  const mark =
    <N extends MarkRoute>(name: N, change: (caller: Caller, id: string) => Promise<Session>) =>
    async ({ caller, id }: RouteCall<MarkRoute>) =>
      answer<MarkRoute>(name, await write.one(caller, await change(caller, id)));
  return {
    archiveSession: mark("archiveSession", tree.archive),
    unarchiveSession: mark("unarchiveSession", tree.unarchive),
    removeSession: mark("removeSession", tree.remove),
    restoreSession: mark("restoreSession", tree.restore),
    purgeSession: async ({ caller, id }) => answer("purgeSession", await tree.purge(caller, id)),
    moveHead: async ({ caller, id, body }) =>
      answer("moveHead", await write.one(caller, await tree.moveHead(caller, { sessionId: id, ...body }))),
    listHeadMoves: async ({ caller, id }) => {
      const moves = await tree.headMoves(caller, id);
      const wire = moves.map(({ from, to, userId, at }) => ({ from, to, userId, at: isoTime(at) }));
      return answer("listHeadMoves", { moves: wire });
    },
    undo: async ({ caller, id }) => {
      const { session, undoneTurnId } = await tree.undo(caller, id);
      return answer("undo", { session: await write.one(caller, session), undoneTurnId });
    },
    getGraph: async ({ caller, id, query }) => {
      const { session, turns, forks, nextAfter } = await tree.graph(caller, id, withoutNullish(query));
      const newest = forks.flatMap((one) => one.newest);
      return answer("getGraph", {
        session: await write.one(caller, session),
        turns: turns.map(toGraphTurn),
        forks: await write.all(caller, newest),
        forkCounts: forks.map(({ turnId, count }) => ({ turnId, count })),
        nextAfter,
        ...toWireTurnNames(session.turnNames),
      });
    },
    getForest: async ({ caller, query: { limit, cursor, q, below } }) => {
      const position = cursor === undefined ? undefined : parseCursor("getForest", cursor);
      const after = position && { activeAt: position.at, id: position.id };
      const { sessions, next } = await tree.forest(caller, withoutNullish({ limit, after, text: q, below }));
      const wire = await write.all(
        caller,
        sessions.map(({ session }) => session),
      );
      const nextCursor = next === null ? null : formatCursor("getForest", { at: next.activeAt, id: next.id });
      return answer("getForest", { sessions: sessions.map((one, at) => toForestRow(one, wire[at])), nextCursor });
    },
    search: async ({ caller, query: { q, limit } }) => {
      const hits = await tree.search(caller, { text: q, ...withoutNullish({ limit }) });
      const found = await write.all(
        caller,
        hits.map(({ session }) => session),
      );
      return answer("search", { hits: found.map((session, at) => ({ session, matches: hits[at]?.matches ?? [] })) });
    },
    verifySession: async ({ caller, id }) => answer("verifySession", await engine.explain.verify(caller, id)),
    sessionSize: async ({ caller, id, query }) =>
      answer("sessionSize", await engine.explain.size(caller, id, withoutNullish(query))),
    getSizes: async ({ caller, query }) =>
      answer("getSizes", await engine.explain.sizes(caller, withoutNullish(query))),
    collectGarbage: async ({ caller, body }) => answer("collectGarbage", await tree.collectGarbage(caller, body)),
  };
}

/** A graph has many turns, so their texts are cut. */
function toGraphTurn(turn: Turn): WireTurnSummary {
  const { instructionSummary, answerSummary, ...wire } = toWireTurnSummary(turn);
  const cut = (text: string): string => text.slice(0, limits.graphTextCharactersMax);
  return { ...wire, instructionSummary: cut(instructionSummary), answerSummary: answerSummary && cut(answerSummary) };
}

function toForestRow(
  { origin, forks }: ForestSession,
  session: WireSession | undefined,
): WireForest["sessions"][number] {
  assert(session !== undefined, "each session has a wire form");
  const wire = forks?.map(({ turnId, sequence, depth, count }) => ({ turnId, sequence, depth, count })) ?? null;
  return { session, origin, forks: wire };
}

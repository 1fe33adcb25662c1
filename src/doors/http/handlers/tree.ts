/** Handlers for the tree of sessions: the head, archiving, deleting, the graph, search (S5, S6, S8, T6, K4), and verifying (D2). */
import type { Caller } from "../../../domain/caller.ts";
import { isoTime } from "../../../domain/ids.ts";
import type { Session } from "../../../domain/session.ts";
import { withoutNullish } from "../../../protocol/given.ts";
import { toWireTurnSummary } from "../../../protocol/turn.ts";
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
    getGraph: async ({ caller, id }) => {
      const { session, turns, forks } = await tree.graph(caller, id);
      const wire = { session: await write.one(caller, session), forks: await write.all(caller, forks) };
      const { names } = toWireTurnNames(session.turnNames);
      return answer("getGraph", { ...wire, turns: turns.map(toWireTurnSummary), names });
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

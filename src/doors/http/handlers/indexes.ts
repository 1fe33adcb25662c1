/** Handlers for indexes and the runs that make them (Q1, Q2). */
import { isoTime } from "../../../domain/ids.ts";
import { withoutUndefined } from "../../../protocol/given.ts";
import { toWireIndexRun } from "../../../protocol/server/index-list.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

type IndexRoute = "listIndexes" | "listIndexedFiles" | "listIndexRuns" | "startIndexRun" | "stopIndexRun";

export function indexHandlers({ engine: { indexes } }: HandlerDependencies): RouteHandlers<IndexRoute> {
  return {
    listIndexedFiles: async ({ caller, query: { repo, part } }) =>
      answer("listIndexedFiles", { paths: await indexes.files(caller, { repo, part }) }),
    listIndexes: async ({ caller }) => {
      const found = await indexes.list(caller);
      // The folder of the working copy stays on the server.
      const shown = found.map(({ root: _root, indexedAt, ...index }) => ({ ...index, indexedAt: isoTime(indexedAt) }));
      return answer("listIndexes", { indexes: shown });
    },
    listIndexRuns: async ({ caller }) =>
      answer("listIndexRuns", { runs: (await indexes.runs(caller)).map(toWireIndexRun) }),
    startIndexRun: async ({ caller, body: { repo, ...how } }) => {
      await indexes.start(caller, { repo, ...withoutUndefined(how) });
      return new Response(null, { status: 204 });
    },
    stopIndexRun: async ({ caller, query: { repo } }) => {
      await indexes.stop(caller, repo);
      return new Response(null, { status: 204 });
    },
  };
}

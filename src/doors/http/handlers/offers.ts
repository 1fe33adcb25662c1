/** Handlers for what waits for a person, and for what turns have cost. */
import { isoTime } from "../../../domain/ids.ts";
import { toWireUsage } from "../../../protocol/values.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

type OfferRoute = "listApprovals" | "getCosts";

export function offerHandlers({ engine }: HandlerDependencies): RouteHandlers<OfferRoute> {
  return {
    listApprovals: async ({ caller }) => {
      const waiting = await engine.turns.waiting(caller);
      const approvals = waiting.map(({ since, ...call }) => ({ ...call, since: isoTime(since) }));
      return answer("listApprovals", { approvals });
    },
    getCosts: async ({ caller, query: { from, until } }) => {
      const period = {
        from: Date.parse(from),
        until: until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until),
      };
      const { cells, ...report } = await engine.sessions.costs(caller, period);
      return answer("getCosts", {
        ...report,
        cells: cells.map(({ usage, ...cell }) => ({ ...cell, usage: toWireUsage(usage) })),
      });
    },
  };
}

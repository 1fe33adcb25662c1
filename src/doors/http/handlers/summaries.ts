/** Handlers for summaries of sessions (M5). */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { isCompleted, type Summary } from "../../../domain/summary.ts";
import type { Engine } from "../../../engine/engine.ts";
import { withoutNullish } from "../../../protocol/given.ts";
import { toWireSummary, type WireSummary } from "../../../protocol/summary/summary.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

type SummaryRoute =
  | "startSummary"
  | "listSummaries"
  | "getSummary"
  | "stopSummary"
  | "getSummaryRequest"
  | "getSummaryResponse";

export function summaryHandlers({ engine }: HandlerDependencies): RouteHandlers<SummaryRoute> {
  const { summaries } = engine.sessions;
  const bytes = (content: Uint8Array): Response =>
    new Response(Buffer.from(content), { headers: { "content-type": "application/octet-stream" } });
  return {
    startSummary: async ({ caller, id, body }) => {
      const summary = await summaries.start(caller, { sessionId: id, ...withoutNullish(body) });
      const wire = await written(engine, caller, summary);
      return answer("startSummary", wire, { location: `/api/summaries/${summary.id}` });
    },
    listSummaries: async ({ caller, id, query }) => {
      const found = await summaries.list(caller, id, withoutNullish(query));
      const wire = await Promise.all(found.map((one) => written(engine, caller, one)));
      return answer("listSummaries", { summaries: wire });
    },
    getSummary: async ({ request, caller, id, query: { waitMs = 0 } }) => {
      const summary = await summaries.wait(caller, id, { waitMs, signal: request.signal });
      return answer("getSummary", await written(engine, caller, summary));
    },
    stopSummary: async ({ caller, id }) => {
      await summaries.stop(caller, id);
      return answer("stopSummary", await written(engine, caller, await summaries.get(caller, id)));
    },
    getSummaryRequest: async ({ caller, id, query: { call } }) =>
      bytes(await summaries.bytes(caller, id, { call, of: "request" })),
    getSummaryResponse: async ({ caller, id, query: { call } }) =>
      bytes(await summaries.bytes(caller, id, { call, of: "response" })),
  };
}

/** Writes a summary with the numbers of the turns that its lines name. */
async function written(engine: Engine, caller: Caller, summary: Summary): Promise<WireSummary> {
  const lines = isCompleted(summary) ? summary.end.lines : [];
  const ids = new Set(lines.flatMap(({ sources }) => sources.map(({ turnId }) => turnId)));
  const sequences = new Map<string, number>();
  for (const id of ids) {
    const turn = await engine.turns.get(caller, id).catch((error: unknown) => {
      // The turn may be one of a session above a fork that the caller may not see.
      if (error instanceof AptoveError && error.code === "not_found") return null;
      throw error;
    });
    if (turn !== null) sequences.set(id, turn.sequence);
  }
  return toWireSummary(summary, sequences);
}

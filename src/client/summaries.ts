/** The client's methods for summaries of sessions (M5). */
import type { QueryOf } from "../protocol/routes/routes.ts";
import type { WireSummary, WireSummaryStart } from "../protocol/summary/summary.ts";
import type { FetchJson, SendRequest } from "./send.ts";

export interface SummaryMethods {
  /** Begins a summary of a session, and returns it as it is then. `get` with `waitMs` waits for its end. */
  start(sessionId: string, options?: WireSummaryStart): Promise<WireSummary>;
  /** Returns the summaries of a session, the newest first. */
  list(sessionId: string, options?: QueryOf<"listSummaries">): Promise<WireSummary[]>;
  /** Returns a summary. With `waitMs`, when it has ended, or after this time. */
  get(id: string, options?: QueryOf<"getSummary">): Promise<WireSummary>;
  /** Stops a summary that is being made, and returns it. */
  stop(id: string): Promise<WireSummary>;
  /** Returns the exact bytes of a call's request. Calls count from 1. */
  request(id: string, call: number): Promise<Uint8Array>;
  /** Returns the exact bytes of a call's response. Calls count from 1. */
  response(id: string, call: number): Promise<Uint8Array>;
}

export function summaryMethods(send: SendRequest, call: FetchJson): SummaryMethods {
  const bytes = async (name: "getSummaryRequest" | "getSummaryResponse", id: string, number: number) => {
    const response = await send(name, { id, query: { call: number }, accept: "application/octet-stream" });
    return new Uint8Array(await response.arrayBuffer());
  };
  return {
    start: (id, body = {}) => call("startSummary", { id, body }),
    list: async (id, query = {}) => (await call("listSummaries", { id, query })).summaries,
    get: (id, query = {}) => call("getSummary", { id, query }),
    stop: (id) => call("stopSummary", { id }),
    request: (id, number) => bytes("getSummaryRequest", id, number),
    response: (id, number) => bytes("getSummaryResponse", id, number),
  };
}

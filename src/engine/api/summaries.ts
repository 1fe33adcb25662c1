/** The engine's API for summaries of sessions (M5). */
import type { Caller } from "../../domain/caller.ts";
import type { CompletedSummary, Summary } from "../../domain/summary.ts";

export interface Summaries {
  /**
   * Begins a summary of the branch that ends at a turn of the session, and returns at once; the model is called in the background.
   * Begins with the newest summary of the branch, if there is one. If that stands for the same turns, and no other model is asked
   * for, returns that one. If one of the same turns is being made, returns that one. Who may run turns in the session may do this.
   * Throws `not_found`, `forbidden`, `nothing_to_summarize`, `summary_running`, `turn_not_continuable`, `provider_unknown`,
   * `context_unknown`, `shutting_down`.
   */
  start(caller: Caller, request: SummaryRequest): Promise<Summary>;
  /** Returns a summary of a session that the caller may see. Throws `not_found`. */
  get(caller: Caller, id: string): Promise<Summary>;
  /** Returns a summary when it has ended, or as it is after `waitMs` milliseconds. Throws `not_found`. */
  wait(caller: Caller, id: string, options: { waitMs: number; signal?: AbortSignal }): Promise<Summary>;
  /** Returns the summaries of a session, the newest first. Throws `not_found`. */
  list(caller: Caller, sessionId: string, page?: { limit?: number; status?: "completed" }): Promise<Summary[]>;
  /** Returns the newest completed summary of each of these sessions that the caller may see and that has one. */
  newestOf(caller: Caller, sessionIds: readonly string[]): Promise<CompletedSummary[]>;
  /**
   * Stops a summary that is being made. It ends as failed with `interrupted`, and what it used so far is kept. Changes nothing if
   * it has ended. Throws `not_found`, `forbidden`.
   */
  stop(caller: Caller, id: string): Promise<void>;
  /** Returns the exact bytes of a call's request or response (D3). Throws `not_found`, `blob_missing`. */
  bytes(caller: Caller, id: string, part: { call: number; of: "request" | "response" }): Promise<Uint8Array>;
}

export interface SummaryRequest {
  sessionId: string;
  /** The last turn of the range. Default: the head. */
  throughTurnId?: string;
  /** The words for a model or a context (G3). Default: what the session chose. */
  model?: string;
  /** True if it must not begin with an earlier summary. */
  fresh?: boolean;
}

/** What a handler of this door gets, and what it may use. */
import type { Caller } from "../../domain/caller.ts";
import type { Engine } from "../../engine/engine.ts";

export interface OpenAiParts {
  engine: Engine;
  heartbeatMs: number;
  /** Reports internal faults. */
  report: (message: string, error?: unknown) => void;
}

/** The client of a request, as the server's HTTP door found it. */
export interface OpenAiClient {
  caller: Caller;
  /** Takes one of the caller's slots for a running turn, and returns the function that frees it (H5). */
  takeRun(): () => void;
  watchKey(onEnd: () => void): () => void;
}

export interface DoorCall extends OpenAiClient {
  request: Request;
  /** The ids in the path. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** The body as JSON. Undefined without one. */
  body: unknown;
}

export type Handler = (call: DoorCall) => Promise<Response>;

/** A value of the engine's may be there for the caller, or not: what is not there and what is hidden look the same. */
export function idParam({ params }: DoorCall, name = "id"): string {
  return params[name] ?? "";
}

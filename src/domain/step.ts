/**
 * A step: one call of a model in a turn. Failed attempts are steps too. The exact request and response can be read back
 * byte for byte (D3).
 */
import type { Failure } from "./errors.ts";
import type { StopReason } from "./events.ts";
import type { Millis } from "./ids.ts";
import type { Usage } from "./usage.ts";

export interface Step {
  turnId: string;
  /** The number of the step in its turn, from 1. */
  index: number;
  provider: string;
  model: string;
  startedAt: Millis;
  endedAt: Millis;
  /** The response that this call continued from the provider's memory. Null if it continued none. */
  previousResponseId: string | null;
  responseId: string | null;
  /** The blob that describes the request (see docs/formats), and the length and SHA-256 of its exact bytes. */
  request: { blob: string; bytes: number; sha256: string };
  outcome: { status: "completed"; stopReason: StopReason } | { status: "failed"; failure: Failure };
  usage: Usage;
}

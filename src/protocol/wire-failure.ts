/** Writes a stored failure for a client, which has no list of fixes of its own. */
import type { Failure } from "../domain/errors.ts";
import { fixes } from "../domain/fixes.ts";
import type { WireFailure } from "./values.ts";

export function toWireFailure({ retryAfterSeconds, ...of }: Failure): WireFailure {
  // Earlier builds stored null for a wait without end.
  const wait = typeof retryAfterSeconds === "number" ? { retryAfterSeconds } : {};
  return { ...of, ...wait, fix: fixes[of.code] };
}

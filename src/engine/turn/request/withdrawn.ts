/** Requests whose caller leaves while they wait for another turn (T5, O2). */
import { AptoveError } from "../../../domain/errors.ts";
import { unlessAborted } from "../../../system/abort.ts";

export interface Withdrawable {
  /** Aborts when the caller no longer wants the turn. */
  withdrawn?: AbortSignal | undefined;
}

/** Throws `interrupted` if the caller no longer wants the turn. */
export function refuseWithdrawn({ withdrawn }: Withdrawable): void {
  if (withdrawn?.aborted === true) throw new AptoveError("interrupted", "the request was withdrawn while it waited");
}

/** Waits as long as the caller wants the turn. Throws `interrupted` when they no longer do, and what the work throws. */
export async function whileWanted<T>(work: Promise<T>, request: Withdrawable): Promise<T> {
  try {
    return await unlessAborted(work, request.withdrawn);
  } catch (error) {
    refuseWithdrawn(request);
    throw error;
  }
}

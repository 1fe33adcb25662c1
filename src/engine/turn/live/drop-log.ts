/** Deletes the live log of a turn that has ended. */
import type { EngineDependencies } from "../../dependencies.ts";

/**
 * Deletes the log. Listeners elsewhere read the rest of the events, and the end, from the blob (T11). The row counts, so a
 * log that cannot be deleted is only garbage. Never rejects.
 */
export async function dropLog(deps: Pick<EngineDependencies, "log" | "report">, turnId: string): Promise<void> {
  try {
    await deps.log.drop(turnId);
  } catch (error) {
    deps.report(`the live log of turn ${turnId} could not be deleted`, error);
  }
}

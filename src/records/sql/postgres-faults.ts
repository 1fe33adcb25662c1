/** Classifies PostgreSQL's errors for a caller that may retry. */
import { AptoveError } from "../../domain/errors.ts";
import { systemCode } from "../../system/system-error.ts";

/** The server closed the connection: connection exceptions, a shutdown, a crash. */
const lostStates = /^(?:08...|57P0[12])$/;
/** The server refused before it began: it is starting, has no free connection, or may not write (a standby, a former primary). */
const refusedStates = ["57P03", "53300", "25006"];
/** The server rolled the transaction back because of concurrent ones: serialization failure, deadlock. */
const undoneStates = ["40001", "40P01"];
const systemErrors = /^E[A-Z]{3,}$/;
/** Messages of the driver about a connection that broke or timed out. These errors have no code. */
const lostMessages = /connection (?:terminated|error|timeout)|is not queryable|read timeout|timeout exceeded/i;

/** Returns whether the connection is lost or did not answer in time. The last statement may have been executed. */
export function isConnectionLost(error: unknown): boolean {
  const code = systemCode(error);
  if (code !== "") return lostStates.test(code) || systemErrors.test(code);
  return error instanceof Error && !(error instanceof AptoveError) && lostMessages.test(error.message);
}

/**
 * Returns whether the server cannot be used at the moment, and nothing was changed. A lost connection counts, because
 * `settled-commits.ts` resolves its commits.
 */
export function isAway(error: unknown): boolean {
  return isConnectionLost(error) || refusedStates.includes(systemCode(error));
}

/** Returns whether nothing was changed and a retry is safe. */
export function isRetryable(error: unknown): boolean {
  return isAway(error) || undoneStates.includes(systemCode(error));
}

/** Returns whether `lock_timeout` expired. */
export function isLockWaitOver(error: unknown): boolean {
  return systemCode(error) === "55P03";
}

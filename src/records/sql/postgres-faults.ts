/** Classifies PostgreSQL's errors for a caller that may try again. */
import { AptoveError } from "../../domain/errors.ts";
import { systemCode } from "../../system/system-error.ts";

/** The server took the connection away: connection exceptions, a shutdown, a crash. */
const lostStates = /^(?:08...|57P0[12])$/;
/** It was refused before it began: the server starts or is full, or is one that may not write (a standby, a former primary). */
const refusedStates = ["57P03", "53300", "25006"];
/** The server undid it, because others were in the way: serialization failure, deadlock. */
const undoneStates = ["40001", "40P01"];
const systemErrors = /^E[A-Z]{3,}$/;
/** What the driver says of a connection that broke or did not answer; these have no code. */
const lostMessages = /connection (?:terminated|error|timeout)|is not queryable|read timeout|timeout exceeded/i;

/** The connection is gone, or did not answer in time. What was asked last may have been done. */
export function isConnectionLost(error: unknown): boolean {
  const code = systemCode(error);
  if (code !== "") return lostStates.test(code) || systemErrors.test(code);
  return error instanceof Error && !(error instanceof AptoveError) && lostMessages.test(error.message);
}

/** Nothing was changed, and the same may be asked again: for all that ends in `settled-commits.ts`, a lost connection too. */
export function mayAskAgain(error: unknown): boolean {
  const code = systemCode(error);
  return isConnectionLost(error) || refusedStates.includes(code) || undoneStates.includes(code);
}

/** `lock_timeout` ran out. */
export function isLockWaitOver(error: unknown): boolean {
  return systemCode(error) === "55P03";
}

/**
 * Conditions that a transaction checks in the database (`SqlDialect.check`, `SqlDialect.writesRow`). SQLite answers at once: a
 * statement that must return a row returns none, and `sendTogether` throws. In PostgreSQL a statement fails, because what follows
 * it is on its way already, and a transaction with a failed statement cannot commit.
 */
import { systemCode } from "../../../system/system-error.ts";

/** A condition is not met, so the transaction changes nothing. */
export class ConditionUnmet extends Error {
  constructor() {
    super("a condition of the transaction is not met");
    this.name = "ConditionUnmet";
  }
}

/** PostgreSQL writes this into its own log as well, as the text of an error. */
export const unmetText = "aptove changes nothing, because a condition is not met";
/** `invalid_text_representation`: the text is no number. */
const notANumber = "22P02";

export function isConditionUnmet(error: unknown): boolean {
  if (error instanceof ConditionUnmet) return true;
  return systemCode(error) === notANumber && (error as Error).message.includes(unmetText);
}

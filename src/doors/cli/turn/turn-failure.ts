/** Reports a turn that failed, or that waits for a tool of the caller. */
import type { ExecuteAnswer } from "../../../client/client.ts";
import { fixOf, printFailure } from "../failure.ts";
import type { CliInvocation } from "../invocation.ts";

export const clientCallNote =
  "a tool of the client: send its result as toolResults (docs/http.md), or continue without it; the model then learns that there is no result";

export function printTurnFailure(invocation: CliInvocation, answer: ExecuteAnswer): void {
  const code = answer.errorCode ?? "internal";
  const fix = fixOf(code, invocation.server());
  printFailure({ code, message: answer.errorMessage ?? "the turn failed", fix }, invocation.output);
}

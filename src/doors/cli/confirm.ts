/** Asks for confirmation before something is done that cannot be undone. */
import { createInterface } from "node:readline/promises";
import type { CliInvocation } from "./invocation.ts";
import { UsageError } from "./failure.ts";

/** Returns true if the person answers yes. Throws `UsageError` without a terminal; `--yes` is the fix for that. */
export async function confirm(invocation: CliInvocation, question: string): Promise<boolean> {
  const { io } = invocation;
  if (io.stdin.isTTY !== true) {
    throw new UsageError(
      `there is no terminal to ask for confirmation: ${question}`,
      "to confirm in advance, give --yes",
    );
  }
  const reader = createInterface({ input: io.stdin, output: io.stderr });
  try {
    return isYes(await reader.question(`${question} [y/N] `));
  } finally {
    reader.close();
  }
}

/** Returns true if `--yes` was given or the person confirms. Otherwise prints that nothing was changed. */
export async function confirmUnlessYes(
  invocation: CliInvocation,
  question: string,
  { yes }: { yes?: boolean },
): Promise<boolean> {
  if (yes === true || (await confirm(invocation, question))) return true;
  invocation.output.note("nothing was changed");
  return false;
}

export function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}

export interface ConfirmOptions {
  yes?: boolean;
}

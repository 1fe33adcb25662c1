/** Asks before something is done that cannot be taken back. */
import { createInterface } from "node:readline/promises";
import type { CliInvocation } from "./invocation.ts";
import { UsageError } from "./failure.ts";

/** True for yes. Without a terminal nobody can be asked: that is wrong use, and `--yes` is the mend. */
export async function confirm(call: CliInvocation, question: string): Promise<boolean> {
  const { io } = call;
  if (io.stdin.isTTY !== true) {
    throw new UsageError(`there is no terminal to ask on: ${question}`, "if that is what you want, give --yes");
  }
  const reader = createInterface({ input: io.stdin, output: io.stderr });
  try {
    return isYes(await reader.question(`${question} [y/N] `));
  } finally {
    reader.close();
  }
}

/** Asks, unless `--yes` was given; says that nothing was done where the answer is no. */
export async function confirmUnlessYes(
  call: CliInvocation,
  question: string,
  { yes }: { yes?: boolean },
): Promise<boolean> {
  if (yes === true || (await confirm(call, question))) return true;
  call.output.note("nothing was changed");
  return false;
}

export function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}

export interface ConfirmOptions {
  yes?: boolean;
}

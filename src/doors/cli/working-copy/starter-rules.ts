/** `aptove init`: writes a first `AGENTS.md` from what the repository has (M1). */
import { writeStarterRules } from "../../../working-copy/starter-rules.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed, exitCodes, type ExitCode } from "../failure.ts";

export async function init(invocation: CliInvocation): Promise<ExitCode> {
  const { root } = await invocation.copy();
  const { file, isWritten } = await writeStarterRules(root).catch((error: unknown) => {
    throw writeFault(root, error);
  });
  if (!isWritten) {
    throw new CommandFailed(
      "rules_exist",
      `${file} exists already`,
      "edit it; it is read at the start of each session",
    );
  }
  if (invocation.json) invocation.output.json({ file });
  else invocation.output.line(`wrote ${invocation.output.safe(file)}; read it and complete it, then commit it`);
  return exitCodes.fine;
}

/** The general fix of the code is about the data folder, and this is a folder of the person. */
function writeFault(root: string, error: unknown): unknown {
  if (!(error instanceof AptoveError) || error.code !== "storage_failed") return error;
  return new CommandFailed("storage_failed", error.message, `give yourself write permission for ${root}`);
}

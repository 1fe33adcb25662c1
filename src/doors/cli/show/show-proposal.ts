/** Shows the changes that an answer proposes, as differences, and whether `aptove apply` can write them (X7). */
import type { AptoveClient, ExecuteAnswer } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed } from "../failure.ts";
import { shortId } from "../lookup/find-by-id.ts";
import { plural } from "../../../system/grouped-number.ts";
import { planProposal, proposalFault, readTurnProposal } from "../working-copy/proposal.ts";
import { diffLines } from "./paint-patch.ts";

/** Only a terminal gets the differences: a pipe has received the answer itself, with its block of files. */
export async function showProposal(
  invocation: CliInvocation,
  client: AptoveClient,
  answer: ExecuteAnswer,
): Promise<void> {
  const { output } = invocation;
  const warning = output.noteStyle.yellow("warning:");
  const fault = proposalFault(answer);
  if (fault !== null) output.note(`${warning} the proposed changes are not valid: ${output.safeNote(fault)}`);
  if (answer.fileBundle === null) return;
  const { root, repo } = await invocation.copy();
  const proposal = await readTurnProposal(client, answer.turnId, repo).catch((error: unknown) => {
    // All changes may be for other repositories of the session.
    if (error instanceof CommandFailed) return error;
    throw error;
  });
  if (proposal instanceof CommandFailed) {
    const where = `${proposal.message}; to write them, run there: aptove apply ${shortId(answer.turnId)}`;
    return output.note(output.safeNote(where));
  }
  const planned = await planProposal(root, proposal);
  if ("fault" in planned) {
    return output.note(`${warning} the proposed changes cannot be written here: ${output.safeNote(planned.fault)}`);
  }
  const { changes } = planned;
  if (output.isTerminal) {
    for (const change of changes) for (const line of await diffLines(change, output)) output.line(line);
  }
  const what =
    changes.length === 0
      ? "every file has the proposed content already"
      : `${plural(changes.length, "file")} to change; write them with: aptove apply`;
  output.note(output.noteStyle.dim(what));
}

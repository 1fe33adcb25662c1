/** Prepares the retrieval of a turn before the first instruction: finds a repository and an index of it (Q1, Q3). */
import type { CliInvocation } from "../invocation.ts";
import { summaryLines, indexWorkingCopy } from "./index-working-copy.ts";
import type { LocalWorkingCopy } from "../../../working-copy/git.ts";
import { listenForStop } from "../stop-signals.ts";
import type { TurnOptions } from "../turn/turn-options.ts";
import { addedCopies } from "../working-copy/added-copies.ts";

/**
 * Indexes the repositories of this folder and of the added ones if they were never indexed, and prints a note if there is none.
 * Does nothing for another server, or for a repository that was named. Returns false if Ctrl-C stopped it.
 */
export async function indexFirst(invocation: CliInvocation, options: TurnOptions): Promise<boolean> {
  const own = options.repo === undefined ? [await invocation.copy()] : [];
  for (const copy of [...own, ...(await addedCopies(invocation, options))]) {
    if (!(await indexCopy(invocation, copy))) return false;
  }
  return true;
}

async function indexCopy(invocation: CliInvocation, copy: LocalWorkingCopy): Promise<boolean> {
  const { output } = invocation;
  if (!copy.hasGit) {
    // The warning about git has named the reason.
    const reason = copy.refusal === null ? "not in a git repository, so no" : "no";
    output.note(output.noteStyle.dim(`${reason} code is searched; name files with --file`));
    return true;
  }
  // The index of a team is built from commits, not from the working copy of one person.
  const isShared = invocation.loaded().configuration.retrieval.store !== "local";
  if (isShared || invocation.server() !== null || (await isIndexed(invocation, copy))) return true;
  const stopping = listenForStop(invocation.io.signals);
  try {
    output.note(output.noteStyle.dim(`indexing ${output.safeNote(copy.root)}, once`));
    const [summary = ""] = summaryLines(await indexWorkingCopy(invocation, copy, { signal: stopping.first }));
    output.note(output.noteStyle.dim(output.safeNote(summary)));
    return true;
  } catch (error) {
    if (!stopping.first.aborted) throw error;
    output.note("stopped; nothing was indexed and no turn was started");
    return false;
  } finally {
    stopping.release();
  }
}

/**
 * Returns true if the repository is indexed. Reading the index beside a running server would cost a second engine; a
 * completed turn proves as much.
 */
async function isIndexed(invocation: CliInvocation, { repo }: LocalWorkingCopy): Promise<boolean> {
  const client = await invocation.client();
  if (invocation.ownServerUrl !== null) {
    const { sessions } = await client.sessions.list({ repo, limit: 1 });
    if (sessions[0]?.lastTurnStatus === "completed") return true;
  }
  const { indexes } = await invocation.local("indexing");
  return (await indexes.list()).some((index) => index.repo === repo);
}

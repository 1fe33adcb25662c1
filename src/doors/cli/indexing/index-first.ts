/** What a turn's retrieval needs before the first instruction: a repository, and an index of it (Q1, Q3). */
import type { CliInvocation } from "../invocation.ts";
import { summaryLines, indexWorkingCopy } from "./index-working-copy.ts";
import type { LocalWorkingCopy } from "../working-copy/git.ts";
import { listenForStop } from "../stop-signals.ts";

/**
 * Indexes this folder's repository where that was never done, and says where there is none. Another server's
 * index is its own matter, and so is the index of a repository that was named. False: it was stopped by Ctrl-C.
 */
export async function indexFirst(call: CliInvocation, namedRepo: string | undefined): Promise<boolean> {
  if (namedRepo !== undefined) return true;
  const copy = await call.copy();
  const { output } = call;
  if (!copy.hasGit) {
    output.note(output.noteStyle.dim("not in a git repository: no code is looked up; name files with --file"));
    return true;
  }
  // What a team looks things up in is made from commits, and not from whatever one of them is working on.
  const isShared = call.loaded().configuration.retrieval.store !== "local";
  if (isShared || call.server() !== null || (await isIndexed(call, copy))) return true;
  const stopping = listenForStop(call.io.signals);
  try {
    output.note(output.noteStyle.dim(`indexing ${output.safeNote(copy.root)}, once`));
    const [summary = ""] = summaryLines(await indexWorkingCopy(call, copy, { signal: stopping.first }));
    output.note(output.noteStyle.dim(output.safeNote(summary)));
    return true;
  } catch (error) {
    if (!stopping.first.aborted) throw error;
    output.note("stopped; nothing was indexed, and nothing asked");
    return false;
  } finally {
    stopping.release();
  }
}

/** To look at the index costs an engine of our own beside a running server; a turn that was answered shows as much. */
async function isIndexed(call: CliInvocation, { repo }: LocalWorkingCopy): Promise<boolean> {
  const { sessions } = await (await call.client()).sessions.list({ repo, limit: 1 });
  if (sessions[0]?.lastTurnStatus === "completed") return true;
  const { indexes } = await call.local("indexing");
  return (await indexes.list()).some((index) => index.repo === repo);
}

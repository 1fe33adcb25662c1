/** Builds the request of a turn from the options of a command and from the working copy. */
import { folderKey } from "../../../domain/session.ts";
import type { ExecuteRequest } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import type { TurnOptions } from "./turn-options.ts";
import { headCommit, type LocalWorkingCopy } from "../working-copy/git.ts";
import { gatherActiveFiles } from "../working-copy/active-files.ts";

/** A new session says which folder of this machine it is about: an editor that has the folder open lists it (P1). */
export async function ofThisFolder(
  call: CliInvocation,
  place: ExecuteRequest,
): Promise<Pick<ExecuteRequest, "session">> {
  const isNew = place.sessionId === undefined && place.rerun === undefined;
  if (!isNew || call.server() !== null) return {};
  const { root, hasGit } = await call.copy();
  return { session: { metadata: { [folderKey]: hasGit ? root : call.io.cwd } } };
}

/** Everything of a turn's request but the instruction and the session. */
export async function turnRequest(call: CliInvocation, options: TurnOptions): Promise<ExecuteRequest> {
  const copy = await call.copy();
  const { cwd } = call.io;
  const withModified = options.modified !== false;
  const [{ files, skipped }, commit] = await Promise.all([
    gatherActiveFiles({ copy, cwd, named: options.file ?? [], withModified }),
    copy.hasGit && options.repo === undefined ? headCommit(copy.root) : null,
  ]);
  for (const { path, reason } of skipped) {
    call.output.note(call.output.noteStyle.dim(`not sent: ${call.output.safeNote(path)} ${reason}`));
  }
  return {
    ...aboutOf(copy, options.repo),
    ...(commit === null ? {} : { commit }),
    ...(files.length === 0 ? {} : { activeFiles: files }),
    ...(options.mode === undefined ? {} : { mode: options.mode }),
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.lang === undefined ? {} : { language: options.lang }),
    ...(options.context === undefined ? {} : { conversationContextId: options.context }),
  };
}

/** A folder outside of git has nothing to look up; its name is the session's workspace, by which it is found again. */
export function aboutOf(
  copy: LocalWorkingCopy,
  namedRepo: string | undefined,
): Pick<ExecuteRequest, "repo" | "workspaceId"> {
  if (namedRepo !== undefined) return { repo: namedRepo };
  return copy.hasGit ? { repo: copy.repo } : { workspaceId: copy.repo };
}

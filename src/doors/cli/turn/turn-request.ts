/** Builds the request of a turn from the options of a command and from the working copy. */
import { folderKey } from "../../../domain/session.ts";
import type { ExecuteRequest } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import type { TurnOptions } from "./turn-options.ts";
import { headCommit } from "../../../system/git-head.ts";
import type { LocalWorkingCopy } from "../../../working-copy/git.ts";
import { readSurroundings } from "../../../working-copy/surroundings.ts";
import type { Surroundings } from "../../../domain/context.ts";
import { gatherActiveFiles, type ActiveFileSelection } from "../working-copy/active-files.ts";

/**
 * Records the folder of this machine in a new session, so that an editor with the folder open lists the session (P1).
 */
export async function ofThisFolder(
  invocation: CliInvocation,
  place: ExecuteRequest,
): Promise<Pick<ExecuteRequest, "session">> {
  const isNew = place.sessionId === undefined && place.rerun === undefined;
  if (!isNew || invocation.server() !== null) return {};
  const { root, hasGit } = await invocation.copy();
  return { session: { metadata: { [folderKey]: hasGit ? root : invocation.io.cwd } } };
}

/** Builds the request of a turn, without the instruction and the session. */
export async function turnRequest(invocation: CliInvocation, options: TurnOptions): Promise<ExecuteRequest> {
  const copy = await invocation.copy();
  const { cwd } = invocation.io;
  const withModified = options.modified !== false;
  const gathering = gatherActiveFiles({ copy, cwd, named: options.file ?? [], withModified });
  const heading = copy.hasGit && options.repo === undefined ? headCommit(copy.root) : null;
  const changed = async (): Promise<readonly string[] | null> => (await gathering).changed;
  const [{ files, skipped }, commit, around] = await Promise.all([
    gathering,
    heading,
    // Another repository than that of the folder has other rules, and another place.
    options.repo === undefined ? readSurroundings(cwd, changed) : null,
  ]);
  for (const line of skippedLines(skipped)) {
    invocation.output.note(invocation.output.noteStyle.dim(`not sent: ${invocation.output.safeNote(line)}`));
  }
  return {
    ...aboutOf(copy, options.repo),
    ...(commit === null ? {} : { commit }),
    ...(options.repo === undefined && invocation.server() === null ? { workingCopy: copy.root } : {}),
    ...(around === null ? {} : surroundingsOnWire(around)),
    ...(files.length === 0 ? {} : { activeFiles: files }),
    ...(options.mode === undefined ? {} : { mode: options.mode }),
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.lang === undefined ? {} : { language: options.lang }),
    ...(options.context === undefined ? {} : { conversationContextId: options.context }),
  };
}

const skippedNamedMax = 3;

/** Returns one line for each reason. */
function skippedLines(skipped: ActiveFileSelection["skipped"]): string[] {
  const byReason = Map.groupBy(skipped, ({ reason }) => reason);
  return [...byReason].map(([reason, files]) => {
    const named = files.slice(0, skippedNamedMax).map(({ path }) => path);
    const more = files.length - named.length;
    return `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""} ${reason}`;
  });
}

function surroundingsOnWire({
  rules,
  place,
  skills,
}: Surroundings): Pick<ExecuteRequest, "rules" | "place" | "skills"> {
  return {
    ...(rules != null && { rules: [...rules] }),
    ...(place != null && { place }),
    // The folder is a path of this machine. A server on it knows the folder from `workingCopy`.
    ...(skills != null && { skills: skills.map(({ root: _root, ...file }) => file) }),
  };
}

/**
 * Names the repository. A folder outside of git has no repository to search; its name becomes the workspace of the
 * session, by which the session is found again.
 */
function aboutOf(copy: LocalWorkingCopy, namedRepo: string | undefined): Pick<ExecuteRequest, "repo" | "workspaceId"> {
  if (namedRepo !== undefined) return { repo: namedRepo };
  return copy.hasGit ? { repo: copy.repo } : { workspaceId: copy.repo };
}

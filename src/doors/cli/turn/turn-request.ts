/** Builds the request of a turn from the options of a command and from the working copy. */
import { folderKey } from "../../../domain/session.ts";
import type { ExecuteRequest } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import type { TurnOptions } from "./turn-options.ts";
import { headCommit } from "../../../system/git/git-head.ts";
import type { LocalWorkingCopy } from "../../../working-copy/git.ts";
import { readSurroundings } from "../../../working-copy/surroundings.ts";
import type { Place, Surroundings } from "../../../domain/context.ts";
import { limits } from "../../../domain/limits.ts";
import { gatherActiveFiles, shownName, wholeRoom, type ActiveFileSelection } from "../working-copy/active-files.ts";
import { addedCopies, filesOfCopies } from "../working-copy/added-copies.ts";
import { readAdded, type AddedRepositories } from "./added-repositories.ts";
import { nothingRepeated, type RepeatedFiles } from "./repeated-files.ts";

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

/** Builds the request of a turn, without the instruction and the session. `repeated`: the files of the turn that is run again. */
export async function turnRequest(
  invocation: CliInvocation,
  options: TurnOptions,
  repeated: RepeatedFiles = nothingRepeated,
): Promise<ExecuteRequest> {
  const copy = await invocation.copy();
  const { cwd } = invocation.io;
  const copies = await addedCopies(invocation, options);
  const named = filesOfCopies(cwd, options.file ?? [], copies);
  const withModified = options.modified !== false;
  const gathering = gatherActiveFiles({ copy, cwd, named: named.own, withModified, repeated: repeated.here });
  const heading = copy.hasGit && options.repo === undefined ? headCommit(copy.root) : null;
  const changed = async (): Promise<readonly string[] | null> => (await gathering).changed;
  const [own, commit, around] = await Promise.all([
    gathering,
    heading,
    // Another repository than that of the folder has other rules, and another place.
    options.repo === undefined ? readSurroundings(cwd, changed) : null,
  ]);
  const room = { files: wholeRoom.files - own.files.length, bytes: Math.max(0, wholeRoom.bytes - own.bytes) };
  const added = await readAdded(invocation, options, { copies, named: named.added, room });
  const files = [...own.files, ...added.files];
  const elsewhere = repeated.elsewhere
    .filter((path) => files.every((file) => file.path !== path))
    .map((path) => ({ path, reason: notHere }));
  for (const line of skippedLines([...own.skipped, ...added.skipped, ...elsewhere])) {
    invocation.output.note(invocation.output.noteStyle.dim(`not sent: ${invocation.output.safeNote(line)}`));
  }
  return {
    ...aboutOf(copy, options.repo),
    ...(added.otherRepos.length === 0 ? {} : { otherRepos: added.otherRepos }),
    ...(commit === null ? {} : { commit }),
    ...(options.repo === undefined && invocation.server() === null ? { workingCopy: copy.root } : {}),
    ...(around === null ? {} : surroundingsOnWire(around, added)),
    ...(files.length === 0 ? {} : { activeFiles: files }),
    ...(options.mode === undefined ? {} : { mode: options.mode }),
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.lang === undefined ? {} : { language: options.lang }),
    ...(options.context === undefined ? {} : { conversationContextId: options.context }),
  };
}

const notHere =
  "of the earlier turn: not in this folder's repository; name each with --file, and its folder with --add-dir";
const skippedNamedMax = 3;

/** Returns one line for each reason. */
function skippedLines(skipped: ActiveFileSelection["skipped"]): string[] {
  const byReason = Map.groupBy(skipped, ({ reason }) => reason);
  return [...byReason].map(([reason, files]) => {
    const named = files.slice(0, skippedNamedMax).map(({ path }) => shownName(path));
    const more = files.length - named.length;
    return `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""} ${reason}`;
  });
}

/** The rules of the current folder come last, because they count more. */
function surroundingsOnWire(
  { rules, place, skills }: Surroundings,
  added: AddedRepositories,
): Pick<ExecuteRequest, "rules" | "place" | "skills"> {
  return {
    ...(rules != null && { rules: [...added.rules, ...rules] }),
    ...(place != null && { place: withChanged(place, added.changed) }),
    // The folder is a path of this machine. A server on it knows the folder from `workingCopy`.
    ...(skills != null && { skills: skills.map(({ root: _root, ...file }) => file) }),
  };
}

function withChanged(place: Place, changed: readonly string[]): Place {
  if (changed.length === 0) return place;
  const modified = [...(place.modified ?? []), ...changed];
  const shown = modified.slice(0, limits.placeFilesMax);
  return { ...place, modified: shown, modifiedMore: place.modifiedMore + modified.length - shown.length };
}

/**
 * Names the repository. A folder outside of git has no repository to search; its name becomes the workspace of the
 * session, by which the session is found again.
 */
function aboutOf(copy: LocalWorkingCopy, namedRepo: string | undefined): Pick<ExecuteRequest, "repo" | "workspaceId"> {
  if (namedRepo !== undefined) return { repo: namedRepo };
  return copy.hasGit ? { repo: copy.repo } : { workspaceId: copy.repo };
}

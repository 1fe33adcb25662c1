/** The files of a turn that is run again (T7). A rerun sends them as they are now, beside those of its own options. */
import { folderKey } from "../../../domain/session.ts";
import { repositoryNames, splitPath } from "../../../domain/repositories.ts";
import type { AptoveClient, WireSession, WireTurn } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import type { TurnOptions } from "./turn-options.ts";

export interface RepeatedFiles {
  /** Paths from the top of this folder's working copy. */
  here: string[];
  /** Paths, as the session has them, of files that are not in this working copy. */
  elsewhere: string[];
}

export const nothingRepeated: RepeatedFiles = { here: [], elsewhere: [] };

/** Returns the files of the turn. Null as the turn: nothing runs again. With `--no-modified`: without those that git reported as modified. */
export async function repeatedFiles(
  invocation: CliInvocation,
  { client, turn }: { client: AptoveClient; turn: WireTurn | null },
  { modified }: Pick<TurnOptions, "modified">,
): Promise<RepeatedFiles> {
  if (turn === null) return nothingRepeated;
  const sent = turn.manifest.activeFiles.filter(({ isTouched }) => modified !== false || !isTouched);
  if (sent.length === 0) return nothingRepeated;
  const session = await client.sessions.get(turn.sessionId);
  const names = { names: repositoryNames(session), home: session.repo };
  const isHere = await isOfThisFolder(invocation, session);
  const files: RepeatedFiles = { here: [], elsewhere: [] };
  for (const { path } of sent) {
    const placed = splitPath(names, path);
    if (isHere && placed.repo === session.repo) files.here.push(placed.path);
    else files.elsewhere.push(path);
  }
  return files;
}

/** A path of another folder's session can name another file here. */
async function isOfThisFolder(invocation: CliInvocation, session: WireSession): Promise<boolean> {
  const { root, repo, hasGit } = await invocation.copy();
  const folder = session.metadata[folderKey];
  if (invocation.server() === null && folder === (hasGit ? root : invocation.io.cwd)) return true;
  return session.repo === null ? folder === undefined && session.workspaceId === repo : session.repo === repo;
}

/** What a request has of the repositories that were added to that of the current folder (M7). */
import { joinPath } from "../../../domain/repositories.ts";
import type { ExecuteRequest } from "../../../client/client.ts";
import { headCommit } from "../../../system/git/git-head.ts";
import type { LocalWorkingCopy } from "../../../working-copy/git.ts";
import { readSurroundings } from "../../../working-copy/surroundings.ts";
import type { CliInvocation } from "../invocation.ts";
import {
  gatherActiveFiles,
  type ActiveFileContent,
  type ActiveFileSelection,
  type FileRoom,
} from "../working-copy/active-files.ts";
import type { TurnOptions } from "./turn-options.ts";

type OtherRepos = NonNullable<ExecuteRequest["otherRepos"]>;

/** Names with the repository in front of each path. */
export interface AddedRepositories {
  otherRepos: OtherRepos;
  files: ActiveFileContent[];
  skipped: ActiveFileSelection["skipped"];
  rules: NonNullable<ExecuteRequest["rules"]>;
  changed: string[];
}

interface CopiesToRead {
  copies: readonly LocalWorkingCopy[];
  /** The files that the caller named in each of them. */
  named: readonly string[][];
  /** What the files of the current folder's repository leave. */
  room: FileRoom;
}

/** Reads the working copies one after the other, so that those that come first have their files in the request. */
export async function readAdded(
  invocation: CliInvocation,
  options: TurnOptions,
  { copies, named, room }: CopiesToRead,
): Promise<AddedRepositories> {
  const added: AddedRepositories = { otherRepos: [], files: [], skipped: [], rules: [], changed: [] };
  let left = room;
  for (const [at, copy] of copies.entries()) {
    const { repo, root } = copy;
    const inSession = (path: string): string => joinPath({ repo, path });
    const withModified = options.modified !== false;
    const files = { copy, cwd: invocation.io.cwd, named: named[at] ?? [], withModified, room: left };
    const gathered = await gatherActiveFiles(files);
    const [commit, { rules }] = await Promise.all([
      headCommit(root),
      readSurroundings(root, async () => await Promise.resolve(gathered.changed)),
    ]);
    const isHere = invocation.server() === null;
    added.otherRepos.push({ repo, ...(commit !== null && { commit }), ...(isHere && { workingCopy: root }) });
    added.files.push(
      ...gathered.files.map(({ renamedTo, ...file }) => ({
        ...file,
        path: inSession(file.path),
        ...(renamedTo != null && { renamedTo: inSession(renamedTo) }),
      })),
    );
    added.skipped.push(...gathered.skipped.map(({ path, reason }) => ({ path: inSession(path), reason })));
    added.rules.push(...(rules ?? []).map((file) => ({ ...file, path: inSession(file.path) })));
    added.changed.push(...(gathered.changed ?? []).map(inSession));
    left = { files: left.files - gathered.files.length, bytes: Math.max(0, left.bytes - gathered.bytes) };
  }
  added.otherRepos.push(...(options.addRepo ?? []).map((repo) => ({ repo })));
  return added;
}

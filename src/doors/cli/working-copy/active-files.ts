/**
 * The files that belong to an instruction (X1): those that the caller names, and those that git reports as modified. A
 * named file that cannot be sent is an error. A modified one is left out, and the output says so.
 */
import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { ExecuteRequest } from "../../../client/client.ts";
import { decodeText, pathFault } from "../../../domain/active-file.ts";
import { limits } from "../../../domain/limits.ts";
import { mayHoldSecrets } from "../../../system/secret-files.ts";
import { systemCode } from "../../../system/system-error.ts";
import { bytes } from "../output.ts";
import { UsageError } from "../failure.ts";
import { changesOf, type LocalWorkingCopy } from "../../../working-copy/git.ts";

export type ActiveFileContent = NonNullable<NonNullable<ExecuteRequest["activeFiles"]>[number]>;

export interface ActiveFileSelection {
  files: ActiveFileContent[];
  /** The size of all files that were read. */
  bytes: number;
  /** The files that are not sent, each with the reason. */
  skipped: { path: string; reason: string }[];
  /** The paths that differ from the last commit, as git reports them. Null: git was not asked. */
  changed: string[] | null;
}

/**
 * The largest file that is read, in bytes. Up to this size the engine gets the file, and records it as skipped if it is
 * too large (X2).
 */
const readBytesMax = 1_048_576;

export interface FileChoice {
  copy: LocalWorkingCopy;
  cwd: string;
  /** The paths as the caller wrote them, absolute or relative to `cwd`. */
  named: readonly string[];
  withModified: boolean;
  /** Paths from the top of the copy, of files that a turn which is run again had. Those that cannot be sent are left out. */
  repeated?: readonly string[];
  /** What files of other repositories leave of the room of the request. Absent: all of it. */
  room?: FileRoom;
}

/** How many files and bytes fit into a request. */
export interface FileRoom {
  files: number;
  bytes: number;
}

export const wholeRoom: FileRoom = { files: limits.activeFilesPerTurnMax, bytes: limits.requestBodyBytesMax / 2 };

export async function gatherActiveFiles(choice: FileChoice): Promise<ActiveFileSelection> {
  const { copy, cwd, named, withModified, repeated = [], room = wholeRoom } = choice;
  const isAsked = withModified && copy.hasGit;
  const changes = isAsked ? await changesOf(copy.root) : null;
  const { modified: changed, removed } = changes ?? { modified: [], removed: [] };
  const modified = new Set(changed);
  const gathered: ActiveFileSelection = { files: [], bytes: 0, skipped: [], changed: null };
  if (changes !== null) gathered.changed = [...changed, ...removed.map(({ path }) => path)];
  const add = (path: string): string | null => {
    if (gathered.files.length >= room.files) return `more than ${wholeRoom.files} files`;
    const file = readActiveFile(copy.root, path);
    if ("reason" in file) return file.reason;
    gathered.bytes += file.size;
    if (gathered.bytes > room.bytes) return `more than ${bytes(wholeRoom.bytes)} of files together`;
    gathered.files.push({ path, content: file.text, isTouched: modified.has(path) });
    return null;
  };
  const wanted = new Set(named.map((name) => pathInCopy(copy.root, cwd, name)));
  for (const path of wanted) {
    const reason = add(path);
    if (reason !== null) throw new UsageError(`--file ${shownName(path)}: ${reason}`, fixOf(copy.root, path));
  }
  const gone = new Set(removed.map(({ path }) => path));
  const again = new Set(repeated.filter((each) => !gone.has(each)));
  for (const path of new Set([...modified, ...again])) {
    // Only a person decides that a provider gets secrets, by naming the file.
    const isSecret = mayHoldSecrets(path) && !again.has(path);
    const reason = wanted.has(path) ? null : isSecret ? "may hold secrets; to send it, name it with --file" : add(path);
    if (reason !== null) gathered.skipped.push({ path, reason });
  }
  for (const { path, renamedTo } of removed) {
    if (gathered.files.length >= room.files || pathFault(path) !== null || wanted.has(path)) continue;
    gathered.files.push({ path, isDeleted: true, isTouched: true, ...(renamedTo !== null && { renamedTo }) });
  }
  return gathered;
}

/** A name with a line break, or with a space at its end, is shown in a form in which a person sees that. */
export function shownName(path: string): string {
  return /[\p{C}\p{Zl}\p{Zp}]|^\s|\s$/u.test(path) ? JSON.stringify(path) : path;
}

function fixOf(root: string, path: string): string {
  const stat = lstatSync(resolve(root, path), { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) return "name its files";
  if (stat !== undefined && pathFault(path) !== null) {
    return "rename the file: a model gets no name with a backslash, a control character or the form of a drive (a:b)";
  }
  if (stat === undefined && path.includes("\uFFFD")) return "rename the file: its name must be UTF-8";
  if (stat === undefined && path.includes("\\")) return "write the path with forward slashes";
  if (stat === undefined && /[*?[{]/.test(path)) return "name each file: a pattern in quotation marks is not expanded";
  return "name a text file of this repository; the path counts from the current folder";
}

/** Returns the path from the top of the working copy, with forward slashes (X5). */
function pathInCopy(root: string, cwd: string, name: string): string {
  const path = relative(root, resolve(cwd, name));
  if (name === "") throw new UsageError("--file has no path", "name a file inside the repository");
  if (path === "") throw new UsageError(`--file ${name}: is not a file`, "name its files");
  if (isOutside(root, resolve(cwd, name))) {
    throw new UsageError(`--file ${shownName(name)} is outside of ${root}`, "name a file inside the repository");
  }
  return path.split(sep).join("/");
}

function isOutside(root: string, file: string): boolean {
  const path = relative(root, file);
  return path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path);
}

type ReadResult = { text: string; size: number } | { reason: string };

function readActiveFile(root: string, path: string): ReadResult {
  const fault = pathFault(path);
  // What to do instead depends on whether there is such a file.
  if (fault !== null) return { reason: `its path ${fault.replace(/;.*/, "")}` };
  try {
    const full = resolve(root, path);
    if (lstatSync(full).isSymbolicLink()) return { reason: "is a symbolic link" };
    if (isOutside(realpathSync(root), realpathSync(full))) return { reason: "is behind a link out of the repository" };
    const stat = statSync(full);
    if (!stat.isFile()) return { reason: "is not a file" };
    if (stat.size > readBytesMax) return { reason: `is too large (${bytes(stat.size)})` };
    const text = decodeText(readFileSync(full));
    return text === null ? { reason: "is not text" } : { text, size: stat.size };
  } catch (error) {
    const code = systemCode(error);
    return { reason: code === "ENOENT" ? "does not exist" : `cannot be read (${code})` };
  }
}

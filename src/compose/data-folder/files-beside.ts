/**
 * The files of a data folder beside the sessions, as a backup and a restore copy them (B3): the configuration, the workspaces, and what binds
 * devices to them. Other processes may replace them meanwhile, so a file that is gone is left out.
 *
 * A person may keep some of them elsewhere, with a link. A backup has what is behind the link, because the link alone protects nothing.
 */
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  copyFileSync,
  createReadStream,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  type Stats,
} from "node:fs";
import { dirname, join } from "node:path";
import { failureOf } from "../../domain/errors.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import { fileIdentity } from "../../system/read-files.ts";
import { isAbsence, systemCode } from "../../system/system-error.ts";
import type { DamagedPart } from "../backup-blobs.ts";

/** The search index is left out because it can be built again; logs and locks belong to running processes. */
export const namesBeside = ["config.toml", "bindings.toml", "workspaces", "version"];

/** Logs of MCP servers belong to processes that have ended, and temporary files to writers that go on or were killed. */
const leftOut = /(?:\/mcp\/.*\.log(?:\.\d+)?|\.\d+\.tmp|\/(?:workspace|permissions)\.toml\.new)$/;

/** Paths are in the data folder, with `/`. A folder comes before what is in it. */
export interface FilesBeside {
  files: string[];
  folders: string[];
  /** What is there and has nothing that could be copied. */
  damaged: DamagedPart[];
}

/** Lists the files of a data folder, also those behind links. `copy` is the folder that they will be copied to. */
export function listBehindLinks(dir: string, copy: string): FilesBeside {
  // A link to a folder that has the data or the copy in it would copy the copy.
  return listIn(dir, new Set([...identitiesAbove(dir), ...identitiesAbove(copy)]));
}

/** Lists the files of a backup. A link is damage: what it leads to was never in the backup. */
export function listInBackup(copy: string): FilesBeside {
  return listIn(copy, null);
}

/** `around` are the folders that no link may lead to. Null: links are not followed. */
function listIn(dir: string, around: ReadonlySet<string> | null): FilesBeside {
  const found: FilesBeside = { files: [], folders: [], damaged: [] };
  const add = (path: string, above: ReadonlySet<string>): void => {
    const stat = lookAt(join(dir, path), around !== null);
    if (typeof stat === "string") found.damaged.push({ name: path, why: stat });
    else if (stat?.isFile() === true) found.files.push(path);
    else if (stat?.isDirectory() === true) addFolder(path, above);
  };
  const addFolder = (path: string, above: ReadonlySet<string>): void => {
    const inside = unlessDamaged(() => [fileIdentity(join(dir, path)), ...readdirSync(join(dir, path)).toSorted()]);
    if (inside === null) return;
    if (typeof inside === "string") return void found.damaged.push({ name: path, why: inside });
    const [identity = "", ...names] = inside;
    if (above.has(identity)) {
      found.damaged.push({ name: path, why: "is a link to a folder that has the link, the data or the backup in it" });
      return;
    }
    found.folders.push(path);
    for (const name of names)
      if (!leftOut.test(`${path}/${name}`)) add(`${path}/${name}`, new Set([...above, identity]));
  };
  for (const name of namesBeside) add(name, around ?? new Set());
  return found;
}

/** Returns null if there is nothing, and words that follow the path if there is something that cannot be read. */
function lookAt(path: string, follows: boolean): Stats | string | null {
  return unlessDamaged(() => {
    const own = lstatSync(path, { throwIfNoEntry: false });
    if (own?.isSymbolicLink() !== true) return own ?? null;
    if (!follows) return "is a link, and the backup does not have what it leads to";
    return statSync(path, { throwIfNoEntry: false }) ?? `is a link to ${readlinkSync(path)}, where there is nothing`;
  });
}

/** Returns null if what is read is gone, and words that follow its path if it cannot be read. */
function unlessDamaged<T>(read: () => T): T | string | null {
  try {
    return read();
  } catch (error) {
    return isAbsence(error) ? null : `cannot be read: ${failureOf(error).message}`;
  }
}

/** Returns the identities of the folder and of all that it is in. */
function identitiesAbove(folder: string): string[] {
  const at = realpathSync.native(folder);
  const above = dirname(at) === at ? [] : identitiesAbove(dirname(at));
  return [fileIdentity(at), ...above];
}

/** Copies the files, with links replaced by what is behind them. Returns what cannot be read. Throws `storage_failed` and `storage_full`. */
export function copyBeside({ files, folders }: FilesBeside, { from, to }: { from: string; to: string }): DamagedPart[] {
  try {
    for (const folder of folders) mkdirSync(join(to, folder), { recursive: true, mode: 0o700 });
    return files.flatMap((path) => {
      const why = copyFile(join(from, path), join(to, path));
      return why === null ? [] : [{ name: path, why }];
    });
  } catch (error) {
    throw storageFault(`the files beside the sessions could not be copied to ${to}`, error);
  }
}

/** Returns why the file cannot be read. Null if it was copied, or is gone. */
function copyFile(from: string, to: string): string | null {
  const found = unlessDamaged(() => {
    accessSync(from, constants.R_OK);
    return statSync(from);
  });
  if (found === null || typeof found === "string") return found;
  // Else the copy would be written behind a link that is there.
  rmSync(to, { force: true });
  try {
    copyFileSync(from, to, constants.COPYFILE_EXCL);
    utimesSync(to, found.atime, found.mtime);
    return null;
  } catch (error) {
    if (isAbsence(error) && !existsSync(from)) return null;
    // A bad sector of the one file must not end the backup.
    if (systemCode(error) === "EIO") return `cannot be read: ${failureOf(error).message}`;
    throw error;
  }
}

/** Returns the SHA-256 of each file that can be read, by its path. */
export async function hashesOf(dir: string, files: readonly string[]): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const path of files) {
    const hash = await hashOf(join(dir, path)).catch(() => null);
    if (hash !== null) hashes[path] = hash;
  }
  return hashes;
}

export async function hashOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(file)) hash.update(piece as Buffer);
  return hash.digest("hex");
}

/** Returns which of the files and folders of a backup are in the data folder with the same content, and which with another one. */
export async function compareBeside(
  { files, folders }: FilesBeside,
  { copy, dir }: { copy: string; dir: string },
): Promise<{ same: string[]; other: string[] }> {
  const isThere = (path: string): boolean => lstatSync(join(dir, path), { throwIfNoEntry: false }) !== undefined;
  const there = files.filter(isThere);
  const [ours, theirs] = [await hashesOf(copy, there), await hashesOf(dir, there)];
  const isFolder = (path: string): boolean =>
    statSync(join(dir, path), { throwIfNoEntry: false })?.isDirectory() === true;
  const blocked = folders.filter((path) => isThere(path) && !isFolder(path));
  const isSame = (path: string): boolean => theirs[path] !== undefined && theirs[path] === ours[path];
  return { same: there.filter(isSame), other: [...blocked, ...there.filter((path) => !isSame(path))] };
}

/**
 * The data folder (B6): where it is on each system, what lies in it, and the refusal of a folder that a
 * newer version wrote. Only this file knows the names.
 */
import { chmodSync, existsSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { AptoveError } from "../domain/errors.ts";
import { storageFaultCode } from "../domain/storage-fault.ts";
import { createFolder, writePrivateFile } from "../system/durable-files.ts";
import { readIfPresent } from "../system/read-files.ts";
import { systemCode } from "../system/system-error.ts";

/** Counts up when the layout changes in a way that an older version cannot read. */
const dataFolderVersion = 1;

export interface DataFolder {
  dir: string;
  config: string;
  /** The embedded record store. */
  records: string;
  blobs: string;
  /** Events of running turns. */
  live: string;
  index: string;
  /** A folder for each workspace, by its id (W1). */
  workspaces: string;
  /** Which workspace each device has (W2). */
  bindings: string;
  /** What lies here keeps processes apart and says nothing (B4). */
  locks: string;
}

export interface Surroundings {
  env: Readonly<Record<string, string | undefined>>;
  platform?: NodeJS.Platform;
  /** The user's home; absent: what the system says. */
  home?: string;
}

/** Absolute path of the data folder; `APTOVE_DATA_DIR` overrides the system's place. Touches nothing. */
export function dataFolderPath(surroundings: Surroundings): string {
  const { env, platform = process.platform } = surroundings;
  const chosen = env["APTOVE_DATA_DIR"];
  if (chosen !== undefined && chosen !== "") return resolve(chosen);
  if (platform === "win32") {
    const local = env["LOCALAPPDATA"];
    return join(local === undefined || local === "" ? join(home(surroundings), "AppData", "Local") : local, "Aptove");
  }
  if (platform === "darwin") return join(home(surroundings), "Library", "Application Support", "Aptove");
  const xdg = env["XDG_DATA_HOME"];
  // The XDG rules say to ignore a path that is not absolute.
  const base = xdg !== undefined && isAbsolute(xdg) ? xdg : join(home(surroundings), ".local", "share");
  return join(base, "Aptove");
}

function home(surroundings: Surroundings): string {
  const named = surroundings.home ?? homedir();
  // An empty HOME (a container, a service) still leaves what the system's user table says.
  const found = named === "" ? systemHome() : named;
  if (isAbsolute(found)) return found;
  throw new AptoveError("config_invalid", "there is no home folder to keep data in; set APTOVE_DATA_DIR to a folder");
}

function systemHome(): string {
  try {
    return userInfo().homedir;
  } catch (error) {
    const detail = "this user has no home folder to keep data in; set APTOVE_DATA_DIR to a folder";
    throw new AptoveError("config_invalid", detail, { cause: error });
  }
}

export function dataFolderAt(dir: string): DataFolder {
  return {
    dir,
    config: join(dir, "config.toml"),
    records: join(dir, "records.db"),
    blobs: join(dir, "blobs"),
    live: join(dir, "live"),
    index: join(dir, "index"),
    workspaces: join(dir, "workspaces"),
    bindings: join(dir, "bindings.toml"),
    locks: join(dir, "locks"),
  };
}

/**
 * Makes the folder (0700) where it is missing and checks its version. Throws `data_newer` when a newer
 * version wrote it, `storage_failed` or `storage_full` when it cannot be used.
 */
export function openDataFolder(dir: string): DataFolder {
  const folder = dataFolderAt(dir);
  try {
    // `mode` applies to new folders only, and the umask may narrow it to something unusable.
    if (makeFolder(dir)) chmodSync(dir, 0o700);
    const found = readVersion(dir);
    if (found === null) writePrivateFile(versionFile(dir), `${dataFolderVersion}\n`);
    else if (found > dataFolderVersion) throw newer(dir, found);
  } catch (error) {
    throw unusable(dir, error);
  }
  return folder;
}

/**
 * True if it was not there before. Parent by parent: where a system refuses a new folder as if its parent were
 * missing, as /proc does, the recursive mkdir of Node never ends.
 */
function makeFolder(dir: string): boolean {
  if (existsSync(dir)) return false;
  if (dirname(dir) !== dir) makeFolder(dirname(dir));
  // False where another process was quicker.
  return createFolder(dir);
}

function versionFile(dir: string): string {
  return join(dir, "version");
}

/** Null: the folder has no version yet. */
function readVersion(dir: string): number | null {
  const text = readIfPresent(versionFile(dir))?.toString().trim();
  if (text === undefined) return null;
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  const detail = `${versionFile(dir)} is damaged: it must hold the version of the data folder, now ${dataFolderVersion}`;
  throw new AptoveError("storage_failed", detail);
}

function newer(dir: string, found: number): AptoveError {
  const detail = `${dir} has the layout ${found}, this version reads up to ${dataFolderVersion}; update aptove, or set APTOVE_DATA_DIR to another folder`;
  return new AptoveError("data_newer", detail, { facts: { found, known: dataFolderVersion } });
}

function unusable(dir: string, error: unknown): AptoveError {
  if (error instanceof AptoveError) return error;
  const fix = "give it to this user, or set APTOVE_DATA_DIR to a folder that can be written";
  const code = storageFaultCode(error);
  const reason = `the data folder ${dir} cannot be used (${systemCode(error) || "unknown"}); ${fix}`;
  const detail = code === "storage_full" ? `no room for the data folder ${dir}` : reason;
  return new AptoveError(code, detail, { cause: error });
}

/**
 * The data folder (B6): its path on each operating system, the names of its contents, and the refusal of a folder that
 * a newer version wrote. Only this file knows the names.
 */
import { chmodSync, existsSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { AptoveError } from "../domain/errors.ts";
import { storageFaultCode } from "../domain/storage-fault.ts";
import { createFolder, writePrivateFile } from "../system/durable-files.ts";
import { readIfPresent } from "../system/read-files.ts";
import { systemCode } from "../system/system-error.ts";

/** Version of the layout. It increases when the layout changes in a way that an older version cannot read. */
const dataFolderVersion = 1;

export interface DataFolder {
  dir: string;
  config: string;
  /** The embedded record store. */
  records: string;
  /** The records of a restore that has not ended. */
  recordsRestoring: string;
  blobs: string;
  /** Blobs that are being moved from the database to files. */
  blobsMoving: string;
  /** Files whose content is in the database. They are being deleted. */
  blobsMoved: string;
  /** Events of running turns. */
  live: string;
  index: string;
  /** The folder of all workspaces, with one folder per workspace id (W1). */
  workspaces: string;
  /** The file that binds each device to its workspace (W2). */
  bindings: string;
  /** The folder of lock files. They coordinate processes and contain nothing (B4). */
  locks: string;
}

export interface DataFolderEnvironment {
  env: Readonly<Record<string, string | undefined>>;
  platform?: NodeJS.Platform;
  /** The user's home folder. If absent, the operating system's answer is used. */
  home?: string;
}

/** Returns the absolute path of the data folder. `APTOVE_DATA_DIR` overrides the default path. Creates nothing. */
export function dataFolderPath(surroundings: DataFolderEnvironment): string {
  const { env, platform = process.platform } = surroundings;
  const chosen = env["APTOVE_DATA_DIR"];
  if (chosen !== undefined && chosen !== "") return resolve(chosen);
  if (platform === "win32") {
    const local = env["LOCALAPPDATA"];
    return join(local === undefined || local === "" ? join(home(surroundings), "AppData", "Local") : local, "Aptove");
  }
  if (platform === "darwin") return join(home(surroundings), "Library", "Application Support", "Aptove");
  const xdg = env["XDG_DATA_HOME"];
  // The XDG specification requires that a relative path is ignored.
  const base = xdg !== undefined && isAbsolute(xdg) ? xdg : join(home(surroundings), ".local", "share");
  return join(base, "Aptove");
}

function home(surroundings: DataFolderEnvironment): string {
  const named = surroundings.home ?? homedir();
  // If HOME is empty (in a container or a service), the system's user table still has the home folder.
  const found = named === "" ? systemHome() : named;
  if (isAbsolute(found)) return found;
  throw new AptoveError(
    "config_invalid",
    "there is no home folder for the data folder; set APTOVE_DATA_DIR to a folder",
  );
}

function systemHome(): string {
  try {
    return userInfo().homedir;
  } catch (error) {
    const detail = "this user has no home folder for the data folder; set APTOVE_DATA_DIR to a folder";
    throw new AptoveError("config_invalid", detail, { cause: error });
  }
}

export function dataFolderAt(dir: string): DataFolder {
  return {
    dir,
    config: join(dir, "config.toml"),
    records: join(dir, "records.db"),
    recordsRestoring: join(dir, "records.db.restoring"),
    blobs: join(dir, "blobs"),
    blobsMoving: join(dir, "blobs-moving"),
    blobsMoved: join(dir, "blobs-moved"),
    live: join(dir, "live"),
    index: join(dir, "index"),
    workspaces: join(dir, "workspaces"),
    bindings: join(dir, "bindings.toml"),
    locks: join(dir, "locks"),
  };
}

/** Returns the folder with its version checked, and creates nothing. It may not exist. Throws like `openDataFolder`. */
export function inspectDataFolder(dir: string): DataFolder {
  try {
    const found = readVersion(dir);
    if (found !== null && found > dataFolderVersion) throw newer(dir, found);
  } catch (error) {
    throw unusable(dir, error);
  }
  return dataFolderAt(dir);
}

/**
 * Creates the folder (mode 0700) if it is missing, and checks its version. Throws `data_newer` if a newer
 * version wrote it, `config_invalid` if it is a file, and `storage_failed` or `storage_full` if it cannot be used.
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
 * Creates a folder and its parents, and returns true if the folder is new. It creates one parent after the other,
 * because Node's recursive mkdir never ends where the system reports a missing parent for every new folder, as /proc does.
 */
function makeFolder(dir: string): boolean {
  if (existsSync(dir)) return false;
  if (dirname(dir) !== dir) makeFolder(dirname(dir));
  // False if another process created it first.
  return createFolder(dir);
}

function versionFile(dir: string): string {
  return join(dir, "version");
}

/** Reads the version of the folder, or returns null if it has none yet. */
function readVersion(dir: string): number | null {
  const text = readIfPresent(versionFile(dir))?.toString().trim();
  if (text === undefined) return null;
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  const detail = `${versionFile(dir)} is damaged: it must contain the version of the data folder, currently ${dataFolderVersion}`;
  throw new AptoveError("storage_failed", detail);
}

function newer(dir: string, found: number): AptoveError {
  const detail = `${dir} has layout ${found}, but this version reads layouts up to ${dataFolderVersion}; update aptove, or set APTOVE_DATA_DIR to another folder`;
  return new AptoveError("data_newer", detail, { facts: { found, known: dataFolderVersion } });
}

function unusable(dir: string, error: unknown): AptoveError {
  if (error instanceof AptoveError) return error;
  if (systemCode(error) === "ENOTDIR") {
    const detail = `the data folder ${dir} is a file, or in a file; set APTOVE_DATA_DIR to a folder`;
    return new AptoveError("config_invalid", detail, { cause: error });
  }
  const fix = "make it writable for this user, or set APTOVE_DATA_DIR to a writable folder";
  const code = storageFaultCode(error);
  const reason = `the data folder ${dir} cannot be used (${systemCode(error) || "unknown"}); ${fix}`;
  const detail = code === "storage_full" ? `there is no space left for the data folder ${dir}` : reason;
  return new AptoveError(code, detail, { cause: error });
}

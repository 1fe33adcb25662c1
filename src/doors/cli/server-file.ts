/**
 * `server.json` in the data folder: the address of the folder's server, and a key for commands of the same person on
 * the same machine. The server writes it when it listens. The key is new at each start, only that process accepts it, and it
 * is removed from the file when the server stops. The process id shows whether the server still runs. A copy of the folder has
 * a copy of the file, but the server is not its server: the file names the folder that it belongs to.
 */
import { join } from "node:path";
import type { DataFolder } from "../../configuration/data-folder.ts";
import { writePrivateFile } from "../../system/durable-files.ts";
import { isProcessAlive } from "../../system/processes.ts";
import { fileIdentity, readIfPresent } from "../../system/read-files.ts";

export interface ServerFile {
  /** The process id of the server. 0 means that it has stopped, or stops. */
  pid: number;
  /** The process id of a server that was asked to stop. It holds its port until its running turns have ended. */
  stopping?: number;
  url: string;
  key: string;
  /** The stored key that earlier versions had here. */
  keyId?: string;
  /** The fingerprint of the configuration that the server runs with. */
  configuration: string;
  /** The address of the server's records, without a password. */
  records: string;
  /** The identity of the data folder, which a copy of it does not share. Earlier versions did not write it. */
  folder?: string;
}

function serverFile(folder: DataFolder): string {
  return join(folder.dir, "server.json");
}

/** Reads the file, whether its server runs or not. Null if there is no file of this folder that can be read. */
export function readServerFile(folder: DataFolder): ServerFile | null {
  const text = readIfPresent(serverFile(folder))?.toString();
  if (text === undefined) return null;
  try {
    const found = JSON.parse(text) as ServerFile;
    return found.folder === undefined || found.folder === fileIdentity(folder.dir) ? found : null;
  } catch {
    // The file is only a convenience. If it is damaged, the server is not found.
    return null;
  }
}

/** Returns the running server of this folder. Null if none runs. */
export function findServer(folder: DataFolder): ServerFile | null {
  const found = readServerFile(folder);
  return found !== null && isProcessAlive(found.pid) ? found : null;
}

export function writeServerFile(folder: DataFolder, server: ServerFile): void {
  writePrivateFile(serverFile(folder), JSON.stringify({ ...server, folder: fileIdentity(folder.dir) }));
}

/** Returns the server of this folder that was asked to stop and has not ended. Null if there is none. */
export function findStopping(folder: DataFolder): { pid: number; url: string } | null {
  const { stopping: pid, url = "" } = readServerFile(folder) ?? {};
  return pid !== undefined && isProcessAlive(pid) ? { pid, url } : null;
}

/** Marks the server with this key as one that stops, and removes the key. Does not change the file of another server. */
export function markStopping(folder: DataFolder, key: string): void {
  const found = readServerFile(folder);
  if (found?.key === key) writeServerFile(folder, { ...found, pid: 0, stopping: found.pid, key: "" });
}

/**
 * Returns true if an aptove server answers at the address. The process id in the file may belong to another program.
 */
export async function answersAt(url: string): Promise<boolean> {
  return await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) }).then(
    (response) => response.ok,
    () => false,
  );
}

/** Returns true if the host can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

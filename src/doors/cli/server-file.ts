/**
 * `server.json` of the data folder: where the server of this folder listens, and a key for the commands of
 * the same person on the same machine. It is written when the server listens; that it stopped, or was killed, is
 * known by its process id.
 */
import { join } from "node:path";
import type { DataFolder } from "../../configuration/data-folder.ts";
import { writePrivateFile } from "../../system/durable-files.ts";
import { isProcessAlive } from "../../system/processes.ts";
import { readIfPresent } from "../../system/read-files.ts";

export interface ServerFile {
  /** 0: it has stopped. */
  pid: number;
  url: string;
  key: string;
  keyId: string;
  /** Fingerprint of the configuration that it runs with. */
  configuration: string;
  /** Where its records are, without a password. Absent: a server of a version that did not say it. */
  records?: string;
}

function serverFile(folder: DataFolder): string {
  return join(folder.dir, "server.json");
}

/** What the file says, of a living server or a dead one; null: there is no file that can be read. */
export function readServerFile(folder: DataFolder): ServerFile | null {
  const text = readIfPresent(serverFile(folder))?.toString();
  if (text === undefined) return null;
  try {
    return JSON.parse(text) as ServerFile;
  } catch {
    // Only a convenience: a damaged one means that the server is not found.
    return null;
  }
}

/** The running server of this folder. */
export function findServer(folder: DataFolder): ServerFile | null {
  const found = readServerFile(folder);
  return found !== null && isProcessAlive(found.pid) ? found : null;
}

export function writeServerFile(folder: DataFolder, server: ServerFile): void {
  writePrivateFile(serverFile(folder), JSON.stringify(server));
}

/** Keeps the key for the next server; the file of another server is left alone. */
export function markStopped(folder: DataFolder, pid: number): void {
  const found = readServerFile(folder);
  if (found?.pid === pid) writeServerFile(folder, { ...found, pid: 0 });
}

/** Whether an aptove server listens there; the process id of a file may be another program's by now. */
export async function answersAt(url: string): Promise<boolean> {
  return await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) }).then(
    (response) => response.ok,
    () => false,
  );
}

/** Whether only this machine reaches the host. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

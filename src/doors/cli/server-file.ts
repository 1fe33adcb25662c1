/**
 * `server.json` in the data folder: the address of the folder's server, and a key for commands of the same person on
 * the same machine. The server writes it when it listens. The key is new at each start, only that process accepts it, and it
 * is removed from the file when the server stops. A process id alone does not show that the server still runs: after a crash another process may
 * have it, in a container even the next server, at the same address. So the server must also accept the key. A copy of the folder has
 * a copy of the file, but the server is not its server: the file names the folder that it belongs to. A further server of the folder has
 * a file of its own beside it, by which commands find it when the first one has ended, in whatever way.
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DataFolder } from "../../configuration/data-folder.ts";
import { newId } from "../../domain/ids.ts";
import { removeIfPossible, writePrivateFile } from "../../system/durable-files.ts";
import { isForeignNamespace, isProcessAlive, ownPidNamespace } from "../../system/processes.ts";
import { fileIdentity, readIfPresent } from "../../system/read-files.ts";
import { isAbsence } from "../../system/system-error.ts";

export interface ServerFile {
  /** The process id of the server. 0 means that it has stopped, or stops. */
  pid: number;
  /** The namespace of the process ids. Absent if the system has none, or an earlier version wrote the file. */
  pidNamespace?: string;
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

const firstName = "server.json";
/** A server that starts while another one runs has a file of its own, so that each of them can end first. */
const furtherName = /^server-[0-9a-f-]{36}\.json$/;

/** Returns the names of the files, that of the first server first, then in the order of the starts. A folder with such a name is none. */
function namesIn({ dir }: DataFolder): string[] {
  try {
    const names = readdirSync(dir, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
    const further = names.filter((name) => furtherName.test(name)).toSorted();
    return [...names.filter((name) => name === firstName), ...further];
  } catch (error) {
    if (isAbsence(error)) return [];
    throw error;
  }
}

/** Reads a file, whether its server runs or not. Null if there is no file of this folder that can be read. */
function readEntry(folder: DataFolder, name: string): ServerFile | null {
  const text = readIfPresent(join(folder.dir, name))?.toString();
  if (text === undefined) return null;
  try {
    const found = JSON.parse(text) as ServerFile;
    return found.folder === undefined || found.folder === fileIdentity(folder.dir) ? found : null;
  } catch {
    // The file is only a convenience. If it is damaged, the server is not found.
    return null;
  }
}

/** Reads the files of all servers, whether they run or not. */
function readEntries(folder: DataFolder): { name: string; entry: ServerFile }[] {
  return namesIn(folder).flatMap((name) => {
    const entry = readEntry(folder, name);
    return entry === null ? [] : [{ name, entry }];
  });
}

/** Returns the servers of this folder whose process seems to run. Commands use the first that accepts its key. */
export async function findServers(folder: DataFolder): Promise<ServerFile[]> {
  const found: ServerFile[] = [];
  for (const { entry } of readEntries(folder)) if (await isRunning(entry, entry.pid)) found.push(entry);
  return found;
}

/** Returns whether the process of a file runs. An id in another namespace may belong to any process here, so its server is asked. */
async function isRunning({ url, pidNamespace }: ServerFile, pid = 0): Promise<boolean> {
  if (pid === 0) return false;
  return isForeignNamespace(pidNamespace) ? await answersAt(url) : isProcessAlive(pid);
}

/**
 * Returns the first server of this folder that accepts its key, of those that fit. Commands use the first of all. Null if none does: the
 * process id in a file may belong to another program, and another server may listen at its address.
 */
export async function answeringServer(
  folder: DataFolder,
  fits: (server: ServerFile) => boolean = () => true,
): Promise<ServerFile | null> {
  for (const server of await findServers(folder)) {
    if (fits(server) && (await askServer(server)) === "accepts") return server;
  }
  return null;
}

/** Writes the file of the first server, and removes those of others that have ended. */
export async function writeServerFile(folder: DataFolder, server: ServerFile): Promise<void> {
  writeEntry(folder, firstName, server);
  await removeEnded(folder, server);
}

/** Writes the file of a server that starts while another one runs. */
export async function writeFurtherServerFile(folder: DataFolder, server: ServerFile): Promise<void> {
  await removeEnded(folder, server);
  // The names are in the order in which the servers started.
  writeEntry(folder, `server-${newId()}.json`, server);
}

function writeEntry(folder: DataFolder, name: string, server: ServerFile): void {
  const place = { pidNamespace: ownPidNamespace(), folder: fileIdentity(folder.dir) };
  writePrivateFile(join(folder.dir, name), JSON.stringify({ ...server, ...place }));
}

/** Removes the files of further servers that have ended. `own` is the server of this process: no other listens at its address. */
async function removeEnded(folder: DataFolder, own: ServerFile): Promise<void> {
  for (const name of namesIn(folder).filter((each) => each !== firstName)) {
    const entry = readEntry(folder, name);
    if (entry !== null && entry.url !== own.url && (await mayRun(entry))) continue;
    rmSync(join(folder.dir, name), { force: true });
  }
}

/** Returns false if the server of a file has certainly ended. One that is suspended may go on. */
async function mayRun(entry: ServerFile): Promise<boolean> {
  if (await isRunning(entry, entry.pid)) return (await askServer(entry)) !== "ended";
  return (await isRunning(entry, entry.stopping)) && (await answersAt(entry.url));
}

/** Returns the servers of this folder that were asked to stop and have not ended. */
export async function findStopping(folder: DataFolder): Promise<ServerFile[]> {
  const found: ServerFile[] = [];
  for (const { entry } of readEntries(folder)) {
    const { stopping: pid = 0 } = entry;
    if (await isRunning(entry, pid)) found.push({ ...entry, pid });
  }
  return found;
}

/** Returns how a person stops this server, to follow "stop it". A process id of another namespace would name another process. */
export function howToStop({ pid, pidNamespace }: ServerFile): string {
  return isForeignNamespace(pidNamespace) ? "in the container where it runs" : `with: kill ${pid}`;
}

/**
 * Marks the server with this key as one that stops, and removes the key. Does not change the file of another server. If the mark cannot
 * be written, for example on a full disk, the file is removed if it can be, and the error is thrown.
 */
export function markStopping(folder: DataFolder, key: string): void {
  const found = readEntries(folder).find(({ entry }) => entry.key === key);
  if (found === undefined) return;
  const { name, entry } = found;
  try {
    writeEntry(folder, name, { ...entry, pid: 0, stopping: entry.pid, key: "" });
  } catch (error) {
    removeIfPossible(join(folder.dir, name));
    throw error;
  }
}

/** Returns the id of the stored key that an earlier version had in the file. Undefined: there is none. */
export function formerKeyId(folder: DataFolder): string | undefined {
  return readEntries(folder).find(({ name }) => name === firstName)?.entry.keyId;
}

/** A server that answers nothing for this long, in milliseconds, counts as one that has ended: its process may be suspended. */
const answerTimeoutMs = 2_000;

/** Returns a signal for a request that only asks whether a server answers. */
export const answerTimeout = (): AbortSignal => AbortSignal.timeout(answerTimeoutMs);

/**
 * Asks the server of a file whether it accepts the key. `ended`: nothing listens at the address, or it is a server with another key, or
 * another program. `silent`: nothing has answered in time.
 */
export async function askServer({ url, key }: ServerFile): Promise<"accepts" | "ended" | "silent"> {
  const headers = { authorization: `Bearer ${key}` };
  try {
    const request = new Request(`${url}/api/me`, { headers, signal: answerTimeout() });
    const { ok, status, headers: answer } = await fetch(request);
    if (ok) return "accepts";
    // It knows the key, and refuses the request for another reason, for example a full disk.
    const isRefusal = answer.get("content-type")?.startsWith("application/problem+json") === true;
    return isRefusal && status !== 401 ? "accepts" : "ended";
  } catch (error) {
    return error instanceof Error && error.name === "TimeoutError" ? "silent" : "ended";
  }
}

/** Returns true if an aptove server answers at the address. */
export async function answersAt(url: string): Promise<boolean> {
  return await fetch(`${url}/healthz`, { signal: answerTimeout() }).then(
    (response) => response.ok,
    () => false,
  );
}

/** Returns true if the host can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

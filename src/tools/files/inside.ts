/**
 * Opens folders of a session so that nobody can lead the way elsewhere between the check of a path and its use: every
 * part of the way is opened from the one before it, and a link on it is refused. Node has no `openat`; Linux gives the
 * same by the paths of open descriptors. On other systems the way is looked at before and after: there, somebody who
 * swaps a folder for a link and back again within that time is not seen.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { constants, mkdir, open, realpath, type FileHandle } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { systemCode } from "../../system/system-error.ts";
import { isInside, type Place } from "../session-folders.ts";
import { ToolFault } from "../tool-fault.ts";

/** A path for a name in the folder, good while the body runs. */
export type At = (name: string) => string;

export interface Way {
  /** Whether folders that are missing are made. */
  make: boolean;
  /** Where the paths of open descriptors are; null: the system has none. */
  descriptors?: string | null;
}

const systemDescriptors = existsSync("/proc/self/fd") ? "/proc/self/fd" : null;

/** Runs the body in the folder that the place is in. Throws a ToolFault where the way there is no longer as it was. */
export async function inFolder<T>(place: Place, way: Way, body: (at: At) => Promise<T>): Promise<T> {
  const { make, descriptors = systemDescriptors } = way;
  const folder = dirname(place.real);
  assert(isInside(folder, place.folder), "a session's folder is not a file in it");
  if (descriptors === null) return await inPlainFolder(place, make, body);
  const steps = relative(place.folder, folder).split(sep).filter(Boolean);
  let handle = await openFolder(place.folder, place);
  try {
    for (const step of steps) {
      const next = await openStep(`${descriptors}/${handle.fd}/${step}`, place, make);
      await handle.close();
      handle = next;
    }
    return await body((name) => `${descriptors}/${handle.fd}/${name}`);
  } finally {
    await handle.close();
  }
}

async function openStep(path: string, place: Place, make: boolean): Promise<FileHandle> {
  if (make) await makeFolder(path);
  return await openFolder(path, place);
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    // What is there already is looked at when it is opened.
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

async function openFolder(path: string, place: Place): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (["ENOTDIR", "ELOOP", "ENOENT"].includes(systemCode(error))) throw moved(place);
    throw error;
  }
}

async function inPlainFolder<T>(place: Place, make: boolean, body: (at: At) => Promise<T>): Promise<T> {
  const folder = dirname(place.real);
  if (make) await mkdir(folder, { recursive: true });
  const check = async (): Promise<void> => {
    const real = await realpath(folder).catch(() => null);
    if (real !== folder) throw moved(place);
  };
  await check();
  const result = await body((name) => join(folder, name));
  await check();
  return result;
}

function moved(place: Place): ToolFault {
  return new ToolFault(`a part of the path ${place.shown} is not a folder, or became a link meanwhile`);
}

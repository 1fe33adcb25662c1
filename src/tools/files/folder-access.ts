/**
 * Opens folders of a session so that no other process can redirect a path between its check and its use. Every part of
 * the path is opened from the part before it, and a link in it is refused. Node has no `openat`; on Linux the paths of
 * open descriptors do the same. On other systems the path is checked before and after the use. There, a process that
 * swaps a folder for a link and back within that time is not noticed.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { constants, mkdir, open, realpath, type FileHandle } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { systemCode } from "../../system/system-error.ts";
import { isInside, type SessionPath } from "../session-folders.ts";
import { systemText, ToolFault } from "../tool-fault.ts";

/** Returns the path of a name in the open folder. The path is valid while the body runs. */
export type PathOfName = (name: string) => string;

/** Options for opening a folder. */
export interface FolderAccess {
  /** True if missing folders are made. */
  makesMissing: boolean;
  /** The folder with the paths of open descriptors. Null if the system has none. */
  descriptors?: string | null;
}

const systemDescriptors = existsSync("/proc/self/fd") ? "/proc/self/fd" : null;

/**
 * Runs the body in the folder that contains the target. Throws a ToolFault if the path to it changed since it was resolved, or if
 * the system refuses something: its own errors name paths of descriptors, which say nothing to the model.
 */
export async function insideFolder<T>(
  target: SessionPath,
  way: FolderAccess,
  body: (at: PathOfName) => Promise<T>,
): Promise<T> {
  try {
    return await inFolder(target, way, body);
  } catch (error) {
    const words = error instanceof ToolFault ? null : systemText(error);
    throw words === null ? error : new ToolFault(`${target.shown}: ${words}`);
  }
}

async function inFolder<T>(target: SessionPath, way: FolderAccess, body: (at: PathOfName) => Promise<T>): Promise<T> {
  const { makesMissing: make, descriptors = systemDescriptors } = way;
  const folder = dirname(target.real);
  assert(isInside(folder, target.folder), "a session's folder is not a file in it");
  if (descriptors === null) return await inPlainFolder(target, make, body);
  const steps = relative(target.folder, folder).split(sep).filter(Boolean);
  let handle = await openFolder(target.folder, target);
  try {
    for (const step of steps) {
      const next = await openStep(`${descriptors}/${handle.fd}/${step}`, target, make);
      await handle.close();
      handle = next;
    }
    return await body((name) => `${descriptors}/${handle.fd}/${name}`);
  } finally {
    await handle.close();
  }
}

async function openStep(path: string, target: SessionPath, make: boolean): Promise<FileHandle> {
  if (make) await makeFolder(path);
  return await openFolder(path, target);
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    // An existing entry is checked when it is opened.
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

async function openFolder(path: string, target: SessionPath): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (["ENOTDIR", "ELOOP", "ENOENT"].includes(systemCode(error))) throw moved(target);
    throw error;
  }
}

async function inPlainFolder<T>(target: SessionPath, make: boolean, body: (at: PathOfName) => Promise<T>): Promise<T> {
  const folder = dirname(target.real);
  if (make) await mkdir(folder, { recursive: true });
  const check = async (): Promise<void> => {
    const real = await realpath(folder).catch(() => null);
    if (real !== folder) throw moved(target);
  };
  await check();
  const result = await body((name) => join(folder, name));
  await check();
  return result;
}

function moved(target: SessionPath): ToolFault {
  return new ToolFault(`a part of the path ${target.shown} is not a folder, or became a link in the meantime`);
}

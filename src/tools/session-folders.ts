/**
 * The folders of a session, and how a path is resolved in them (P5). All symbolic links of a path are resolved first. A
 * path that leads out of the folders is refused, whether or not the file exists.
 */
import { lstat, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { distance } from "fastest-levenshtein";
import { limits } from "../domain/limits.ts";
import { systemCode } from "../system/system-error.ts";
import { shownPath } from "./shown-text.ts";
import { ToolFault } from "./tool-fault.ts";

export interface SessionFoldersOptions {
  /** Absolute paths. Relative paths begin in the first one. A folder may itself be a symbolic link. */
  folders: readonly string[];
  /** Folders that the session may not open even inside its own folders, such as the data folder, which contains keys. */
  closed?: readonly ClosedFolder[];
  /**
   * The top folders of the session's repositories, by their names, if it is about several (M7). `web:src/main.ts` is a path in one of
   * them. It is open only if it is in the session's folders.
   */
  repositories?: ReadonlyMap<string, string>;
}

export interface ClosedFolder {
  /** Absolute path. */
  folder: string;
  /** Returns true for a path that is open to a session whose own folder is inside this one. The path is relative, with forward slashes. Absent: every path is open. */
  opens?(path: string): boolean;
}

/** A path of a tool call, resolved in the session's folders. */
export interface SessionPath {
  /** The absolute path that is opened, with every link resolved. */
  real: string;
  /** The session's folder that contains it, with every link resolved. */
  folder: string;
  /** The absolute path below the folder's configured name, as people and editors know it. */
  known: string;
  /** The path as the model and people see it, on one line: relative to the first folder, absolute in another one, or with the name of its repository. */
  shown: string;
  /** Null if nothing exists there. */
  kind: "file" | "folder" | "other" | null;
}

export type ExistingPath = SessionPath & { kind: "file" | "folder" };

/** Folders of the system whose files are not ordinary: reading one may block, never end, or reveal the secrets of this process. */
const systemFolders: readonly ClosedFolder[] = [
  { folder: "/proc", opens: () => false },
  { folder: "/sys", opens: () => false },
  // Shared memory has ordinary files.
  { folder: "/dev", opens: (path) => /^shm(\/|$)/.test(path) },
];

interface Root {
  given: string;
  real: string;
}

export class SessionFolders {
  readonly #given: readonly string[];
  readonly #closed: readonly ClosedFolder[];
  readonly #repositories: ReadonlyMap<string, string>;
  /** The resolved path of each folder, from when it first existed. A folder that takes its name later is a different one. */
  readonly #real = new Map<string, string>();

  constructor({ folders, closed = [], repositories = new Map() }: SessionFoldersOptions) {
    this.#repositories = new Map([...repositories].map(([name, top]) => [name, resolve(top)]));
    this.#given = folders.map((folder) => resolve(folder));
    this.#closed = closed.map((each) => ({ ...each, folder: resolve(each.folder) }));
  }

  /** Resolves a path. Throws a ToolFault if the path leads out of the folders, is not valid, or none of the session's folders exists. */
  async resolve(path: string): Promise<SessionPath> {
    return (await this.#locate(path)).target;
  }

  /** Resolves a path to an existing file or folder. Throws a ToolFault as `resolve` does, and one with similar paths if nothing exists there. */
  async resolveExisting(path: string): Promise<ExistingPath> {
    const { target, root } = await this.#locate(path);
    const { kind, shown } = target;
    if (kind === "other") throw new ToolFault(`${shown} is neither a file nor a folder`);
    if (kind !== null) return { ...target, kind };
    const near = (await nearPaths(target.real, root.real)).map((real) => this.#shown(real, root));
    throw new ToolFault(`${shown} does not exist${near.length === 0 ? "" : `; similar paths: ${near.join(", ")}`}`);
  }

  /** Returns a test for paths below a folder: true if the path is open to the session. The paths are relative to the folder, with forward slashes. */
  async openBelow(target: SessionPath): Promise<(path: string) => boolean> {
    const closed = await this.#allClosed();
    return (path) => !isClosed(join(target.real, path), target.folder, closed);
  }

  async #locate(path: string): Promise<{ target: SessionPath; root: Root }> {
    if (path.includes("\0")) throw new ToolFault("the path contains a NUL");
    if (path.length > limits.toolPathCharactersMax) {
      throw new ToolFault(`the path has ${path.length} characters; it may have ${limits.toolPathCharactersMax}`);
    }
    const requested = this.#requested(path);
    const roots = await this.#roots();
    const { real, kind } = await resolved(requested, path);
    // The innermost folder decides which paths are open.
    const root = roots.filter((each) => isInside(real, each.real)).toSorted((a, b) => b.real.length - a.real.length)[0];
    if (root === undefined || isClosed(real, root.real, await this.#allClosed())) throw this.#outside(path);
    const known = isInside(requested, root.given) ? requested : join(root.given, relative(root.real, real));
    return { target: { real, folder: root.real, known, shown: this.#shown(real, root), kind }, root };
  }

  #requested(path: string): string {
    for (const [name, top] of this.#repositories) {
      // What follows a name is always a path in its repository.
      if (path.startsWith(`${name}:`)) return join(top, path.slice(name.length + 1));
    }
    return resolve(this.#given[0] ?? "", path);
  }

  #shown(real: string, root: Root): string {
    const inFolder = relative(root.real, real);
    const known = join(root.given, inFolder);
    for (const [name, top] of this.#repositories) {
      if (isInside(known, top)) return shownPath(`${name}:${relative(top, known)}`);
    }
    return shownPath(root.given === this.#given[0] ? inFolder || "." : known);
  }

  async #roots(): Promise<Root[]> {
    const roots = await Promise.all(this.#given.map(async (given) => ({ given, real: await this.#realOf(given) })));
    const present = roots.flatMap(({ given, real }) => (real === null ? [] : [{ given, real }]));
    if (present.length > 0) return present;
    throw new ToolFault(`the session's folder ${this.#given.map(shownPath).join(", ")} does not exist`);
  }

  async #realOf(given: string): Promise<string | null> {
    const known = this.#real.get(given);
    if (known !== undefined) return known;
    const real = await realOrNull(given);
    if (real === null || (await kindAt(real)) !== "folder") return null;
    this.#real.set(given, real);
    return real;
  }

  async #allClosed(): Promise<readonly ClosedFolder[]> {
    const real = this.#closed.map(async (each) => ({
      ...each,
      folder: (await realOrNull(each.folder)) ?? each.folder,
    }));
    return [...systemFolders, ...(await Promise.all(real))];
  }

  #outside(path: string): ToolFault {
    const folders = this.#given.map(shownPath).join(", ");
    return new ToolFault(`${shownPath(path)} is not open to this session; its folders are: ${folders}`);
  }
}

/** Returns true if a path is in a closed folder. A session whose own folder is inside the closed folder may open the paths there that `opens` allows. */
function isClosed(real: string, root: string, closed: readonly ClosedFolder[]): boolean {
  return closed.some(({ folder, opens }) => {
    if (!isInside(real, folder)) return false;
    if (root === folder || !isInside(root, folder)) return true;
    return opens !== undefined && !opens(relative(folder, real).split(sep).join("/"));
  });
}

export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

async function realOrNull(path: string): Promise<string | null> {
  return await realpath(path).catch((error: unknown) => absent(error));
}

function absent(error: unknown): null {
  if (["ENOENT", "ENOTDIR", "ENAMETOOLONG"].includes(systemCode(error))) return null;
  throw error;
}

/** Resolves the deepest existing part of the path. The rest does not exist, so it has no links, and is appended unchanged. */
async function resolved(requested: string, path: string): Promise<Pick<SessionPath, "real" | "kind">> {
  const missing: string[] = [];
  for (let part = requested; ; part = dirname(part)) {
    const real = await realpath(part).catch((error: unknown) => linkFault(error, path));
    if (real !== null) return { real: join(real, ...missing), kind: missing.length === 0 ? await kindAt(real) : null };
    const link = await lstat(part).catch((error: unknown) => absent(error));
    if (link !== null)
      throw new ToolFault(`${shownPath(path)} is, or is below, a link to something that does not exist`);
    const twin = await sameName(part);
    if (twin !== null) return await resolved(join(twin, ...missing), path);
    missing.unshift(basename(part));
  }
}

function linkFault(error: unknown, path: string): null {
  if (systemCode(error) === "ELOOP") throw new ToolFault(`${shownPath(path)} is a link that leads to itself`);
  return absent(error);
}

/** Returns the existing path whose name differs only in its Unicode form, or null. Models compose letters; some disks store them decomposed. */
async function sameName(path: string): Promise<string | null> {
  const name = basename(path).normalize("NFC");
  // An ASCII name has only one form.
  if (/^[\0-\x7f]*$/.test(name)) return null;
  const names = await readdir(dirname(path)).catch((error: unknown) => absent(error));
  const twin = names?.find((each) => each.normalize("NFC") === name);
  return twin === undefined || twin === basename(path) ? null : join(dirname(path), twin);
}

async function kindAt(real: string): Promise<SessionPath["kind"]> {
  const stats = await lstat(real).catch((error: unknown) => absent(error));
  if (stats === null) return null;
  if (stats.isFile()) return "file";
  return stats.isDirectory() ? "folder" : "other";
}

const namesNearMax = 3;
/** No file system allows a longer name. */
const nameCharactersMax = 255;

/** Returns similar paths that exist: in the deepest existing folder, the names that are like the first missing one. */
async function nearPaths(real: string, root: string): Promise<string[]> {
  for (let missing = real; isInside(dirname(missing), root); missing = dirname(missing)) {
    const folder = dirname(missing);
    const names = await readdir(folder).catch((error: unknown) => absent(error));
    if (names !== null) return nearNames(basename(missing), names).map((name) => join(folder, name));
  }
  return [];
}

function nearNames(name: string, names: readonly string[]): string[] {
  if (name.length > nameCharactersMax) return [];
  const wanted = name.toLowerCase();
  return names
    .slice(0, 10_000)
    .map((each) => ({ each, edits: distance(each.toLowerCase(), wanted) }))
    .filter(({ each, edits }) => edits <= Math.max(2, name.length / 3) || stemOf(each) === stemOf(name))
    .toSorted((a, b) => a.edits - b.edits)
    .slice(0, namesNearMax)
    .map(({ each }) => each);
}

function stemOf(name: string): string {
  return name.replace(/(?<=.)\..*$/, "").toLowerCase();
}

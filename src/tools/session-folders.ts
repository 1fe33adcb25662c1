/**
 * The folders of a session, and what a path means in them (P5). A path is taken for what it leads to once all symbolic
 * links are resolved; what leads out of the folders is refused, whether it is there or not.
 */
import { lstat, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { distance } from "fastest-levenshtein";
import { limits } from "../domain/limits.ts";
import { systemCode } from "../system/system-error.ts";
import { shownPath } from "./shown-text.ts";
import { ToolFault } from "./tool-fault.ts";

export interface SessionFoldersOptions {
  /** Absolute paths; the first is where relative paths begin. A folder may itself be a link. */
  folders: readonly string[];
  /** Folders that stay closed where they lie inside one of the session's: the data folder, with its keys. */
  closed?: readonly ClosedFolder[];
}

export interface ClosedFolder {
  /** Absolute. */
  folder: string;
  /** Whether a path in it, with forward slashes, is open to a session that works inside it; absent: all of it is. */
  opens?(path: string): boolean;
}

export interface Place {
  /** Absolute, every link resolved: what is opened. */
  real: string;
  /** The session's folder that it is in, every link resolved. */
  folder: string;
  /** Absolute, through the folder's name as it was given: how people and editors know it. */
  known: string;
  /** For the model and for people, on one line: relative to the first folder, absolute in another one. */
  shown: string;
  /** Null: there is nothing. */
  kind: "file" | "folder" | "other" | null;
}

export type PresentPlace = Place & { kind: "file" | "folder" };

/** What looks like files there is none: reading may block for ever, never end, or tell the secrets of this process. */
const systemFolders: readonly ClosedFolder[] = [
  { folder: "/proc", opens: () => false },
  { folder: "/sys", opens: () => false },
  // What is in memory there are files like others.
  { folder: "/dev", opens: (path) => /^shm(\/|$)/.test(path) },
];

interface Root {
  given: string;
  real: string;
}

export class SessionFolders {
  readonly #given: readonly string[];
  readonly #closed: readonly ClosedFolder[];
  /** The real folder of each, from when it was first there: what takes its name later is another one. */
  readonly #real = new Map<string, string>();

  constructor({ folders, closed = [] }: SessionFoldersOptions) {
    this.#given = folders.map((folder) => resolve(folder));
    this.#closed = closed.map((each) => ({ ...each, folder: resolve(each.folder) }));
  }

  /** Throws a ToolFault where the path leads out, cannot be one, or no folder of the session is there. */
  async place(path: string): Promise<Place> {
    return (await this.#locate(path)).place;
  }

  /** The same for something that must be there; else the fault names what is near. */
  async existing(path: string): Promise<PresentPlace> {
    const { place, root } = await this.#locate(path);
    const { kind, shown } = place;
    if (kind === "other") throw new ToolFault(`${shown} is neither a file nor a folder`);
    if (kind !== null) return { ...place, kind };
    const near = (await nearPaths(place.real, root.real)).map((real) => this.#shown(real, root));
    throw new ToolFault(`there is no ${shown}${near.length === 0 ? "" : `; there is ${near.join(", ")}`}`);
  }

  /** Whether what is below a folder of the session is open, by its path in it, with forward slashes. */
  async openBelow(place: Place): Promise<(path: string) => boolean> {
    const closed = await this.#allClosed();
    return (path) => !isClosed(join(place.real, path), place.folder, closed);
  }

  async #locate(path: string): Promise<{ place: Place; root: Root }> {
    if (path.includes("\0")) throw new ToolFault("the path contains a NUL");
    if (path.length > limits.toolPathCharactersMax) {
      throw new ToolFault(`the path has ${path.length} characters; it may have ${limits.toolPathCharactersMax}`);
    }
    const asked = resolve(this.#given[0] ?? "", path);
    const roots = await this.#roots();
    const { real, kind } = await resolved(asked, path);
    // A folder within another one has its own word on what is open.
    const root = roots.filter((each) => isInside(real, each.real)).toSorted((a, b) => b.real.length - a.real.length)[0];
    if (root === undefined || isClosed(real, root.real, await this.#allClosed())) throw this.#outside(path);
    const known = isInside(asked, root.given) ? asked : join(root.given, relative(root.real, real));
    return { place: { real, folder: root.real, known, shown: this.#shown(real, root), kind }, root };
  }

  #shown(real: string, root: Root): string {
    const inFolder = relative(root.real, real);
    return shownPath(root.given === this.#given[0] ? inFolder || "." : join(root.given, inFolder));
  }

  async #roots(): Promise<Root[]> {
    const roots = await Promise.all(this.#given.map(async (given) => ({ given, real: await this.#realOf(given) })));
    const present = roots.flatMap(({ given, real }) => (real === null ? [] : [{ given, real }]));
    if (present.length > 0) return present;
    throw new ToolFault(`the session's folder ${this.#given.map(shownPath).join(", ")} is not there`);
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

/** A session that works inside a closed folder was put there, and only there is it open, as far as the folder says. */
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

/** The deepest part that is there is resolved; the rest is taken as it is said, and is no link, for it is not there. */
async function resolved(asked: string, path: string): Promise<Pick<Place, "real" | "kind">> {
  const missing: string[] = [];
  for (let part = asked; ; part = dirname(part)) {
    const real = await realpath(part).catch((error: unknown) => linkFault(error, path));
    if (real !== null) return { real: join(real, ...missing), kind: missing.length === 0 ? await kindAt(real) : null };
    const link = await lstat(part).catch((error: unknown) => absent(error));
    if (link !== null)
      throw new ToolFault(`${shownPath(path)} is, or is behind, a link to something that is not there`);
    const twin = await sameName(part);
    if (twin !== null) return await resolved(join(twin, ...missing), path);
    missing.unshift(basename(part));
  }
}

function linkFault(error: unknown, path: string): null {
  if (systemCode(error) === "ELOOP") throw new ToolFault(`${shownPath(path)} is a link that leads to itself`);
  return absent(error);
}

/** The name that differs only in how Unicode writes its letters: models compose them, some disks do not. */
async function sameName(path: string): Promise<string | null> {
  const name = basename(path).normalize("NFC");
  // Plain names are written in one way.
  if (/^[\0-\x7f]*$/.test(name)) return null;
  const names = await readdir(dirname(path)).catch((error: unknown) => absent(error));
  const twin = names?.find((each) => each.normalize("NFC") === name);
  return twin === undefined || twin === basename(path) ? null : join(dirname(path), twin);
}

async function kindAt(real: string): Promise<Place["kind"]> {
  const stats = await lstat(real).catch((error: unknown) => absent(error));
  if (stats === null) return null;
  if (stats.isFile()) return "file";
  return stats.isDirectory() ? "folder" : "other";
}

const namesNearMax = 3;
/** No disk has a longer one. */
const nameCharactersMax = 255;

/** What there is instead: in the deepest folder that is there, the names that are like the first one that is not. */
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
    .map((each) => ({ each, away: distance(each.toLowerCase(), wanted) }))
    .filter(({ each, away }) => away <= Math.max(2, name.length / 3) || stemOf(each) === stemOf(name))
    .toSorted((a, b) => a.away - b.away)
    .slice(0, namesNearMax)
    .map(({ each }) => each);
}

function stemOf(name: string): string {
  return name.replace(/(?<=.)\..*$/, "").toLowerCase();
}

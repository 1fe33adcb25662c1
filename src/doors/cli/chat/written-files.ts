/**
 * The files that tools of a chat wrote, with their contents before, so that `/undo` can put them back (L2). They are kept
 * in memory, as long as the chat runs.
 */
import { realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { sha256 } from "../../../domain/ids.ts";
import type { PlannedChange } from "../../../domain/file-bundle.ts";
import type { ToolCallView } from "../../../domain/tool.ts";
import { readIfPresent } from "../../../system/read-files.ts";
import { isAbsence } from "../../../system/system-error.ts";

/** The contents of the oldest turns are dropped first. */
const keptBytesMax = 67_108_864;

interface WrittenFile {
  /** Relative to the top of the working copy, without links. */
  path: string;
  before: Uint8Array | null;
  /** The hash of the content that the tool left. Null: it left no file. */
  after: string | null;
}

/** What can be put back, and what cannot because others changed it too. */
export interface PuttingBack {
  changes: PlannedChange[];
  /** Paths of files that others changed too, between the calls or since. */
  changed: string[];
}

export class WrittenFiles {
  /** The files of each turn that made the calls, oldest first. */
  readonly #byTurn = new Map<string, WrittenFile[]>();

  /** Runs the body, and keeps what it changes in the files that the call is about. */
  async during<T>(call: { turnId: string; root: string; view: ToolCallView }, body: () => Promise<T>): Promise<T> {
    const before = filesOf(call);
    try {
      return await body();
    } finally {
      for (const file of filesOf(call)) {
        const known = before.find(({ path }) => path === file.path);
        const after = hashOf(file.content);
        if (known !== undefined) this.#keep(call.turnId, { path: file.path, before: known.content, after });
      }
    }
  }

  /** Returns what has to be written so that the files are as they were before these turns. */
  puttingBack(root: string, turnIds: ReadonlySet<string>): PuttingBack {
    const files = new Map<string, WrittenFile & { isChanged: boolean }>();
    const written = [...this.#byTurn].flatMap(([turnId, ofTurn]) => (turnIds.has(turnId) ? ofTurn : []));
    for (const file of written) {
      const known = files.get(file.path);
      // Another program may have changed the file between two calls.
      const isChanged = known !== undefined && (known.isChanged || known.after !== hashOf(file.before));
      files.set(file.path, { ...file, before: (known ?? file).before, isChanged });
    }
    const back: PuttingBack = { changes: [], changed: [] };
    for (const { path, before, after, isChanged } of files.values()) {
      const now = readIfPresent(join(realpathSync(root), path));
      if (hashOf(now) === hashOf(before)) continue;
      if (isChanged || hashOf(now) !== after) back.changed.push(path);
      else back.changes.push({ path, before: currentFile(now), after: textOf(before) });
    }
    return back;
  }

  /** Forgets what these turns wrote. */
  forget(turnIds: Iterable<string>): void {
    for (const turnId of turnIds) this.#byTurn.delete(turnId);
  }

  #keep(turnId: string, file: WrittenFile): void {
    const isText = file.before === null || Buffer.from(textOf(file.before) ?? "").equals(file.before);
    // The tools write text only.
    if (!isText || hashOf(file.before) === file.after) return;
    this.#byTurn.set(turnId, [...(this.#byTurn.get(turnId) ?? []), file]);
    const sizes = [...this.#byTurn].map(([id, files]) => ({ id, size: sizeOf(files) }));
    let total = sizes.reduce((sum, { size }) => sum + size, 0);
    for (const { id, size } of sizes) {
      if (total <= keptBytesMax || id === turnId) break;
      this.#byTurn.delete(id);
      total -= size;
    }
  }
}

/** Returns the files that a call changes, as they are. A file that cannot be read cannot be put back either. */
function filesOf({ root, view }: { root: string; view: ToolCallView }): { path: string; content: Uint8Array | null }[] {
  try {
    const real = realpathSync(root);
    return pathsOf(view, real).map((path) => ({ path, content: readIfPresent(join(real, path)) }));
  } catch {
    return [];
  }
}

/** Returns the files inside of the working copy that a call changes. A command names none. */
function pathsOf({ kind, locations }: ToolCallView, root: string): string[] {
  if (!["edit", "delete", "move"].includes(kind)) return [];
  const paths = locations
    .filter(({ path }) => isAbsolute(path))
    .map(({ path }) => relative(root, realOf(path)).replaceAll(sep, "/"));
  return [...new Set(paths)].filter((path) => path !== "" && path !== ".." && !path.startsWith("../"));
}

/** Returns the path without links. The end of it may not exist yet. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isAbsence(error) || dirname(path) === path) throw error;
    return join(realOf(dirname(path)), basename(path));
  }
}

function currentFile(content: Uint8Array | null): PlannedChange["before"] {
  return content === null ? null : { content, sha256: sha256(content) };
}

function textOf(content: Uint8Array | null): string | null {
  return content === null ? null : Buffer.from(content).toString("utf8");
}

function hashOf(content: Uint8Array | null): string | null {
  return content === null ? null : sha256(content);
}

function sizeOf(files: readonly WrittenFile[]): number {
  return files.reduce((sum, { before }) => sum + (before?.length ?? 0), 0);
}

/** Shows a list of paths as an indented tree of bounded size: folders are opened from the top down while there is room. */
import { shownPath } from "../shown-text.ts";

interface Folder {
  folders: Map<string, Folder>;
  files: string[];
  /** The number of files in the folder and below it. */
  count: number;
  isOpen: boolean;
}

export interface FileTreeLimits {
  entriesMax: number;
  /** The most levels that are opened. */
  depthMax: number;
}

export interface FileTreeText {
  lines: string[];
  /** True if some folders are shown only with the number of their files. */
  hasClosed: boolean;
}

export function fileTreeText(paths: readonly string[], room: FileTreeLimits): FileTreeText {
  const root = folderOf(paths);
  open(root, room);
  const tree: FileTreeText = { lines: [], hasClosed: false };
  write(root, "", tree);
  const over = tree.lines.length - room.entriesMax;
  // This happens only if the top folder alone exceeds the limit.
  if (over > 0) tree.lines.splice(room.entriesMax, over, `… and ${over} more`);
  return tree;
}

function newFolder(): Folder {
  return { folders: new Map(), files: [], count: 0, isOpen: false };
}

function folderOf(paths: readonly string[]): Folder {
  const root = newFolder();
  for (const path of paths) {
    const names = path.split("/");
    const file = names.pop() ?? "";
    let folder = root;
    folder.count++;
    for (const name of names) {
      const next = folder.folders.get(name) ?? newFolder();
      folder.folders.set(name, next);
      folder = next;
      folder.count++;
    }
    folder.files.push(file);
  }
  return root;
}

/** Opens folders breadth first, so that entries near the top are visible. A folder that does not fit stays closed; a later one may fit. */
function open(root: Folder, { entriesMax, depthMax }: FileTreeLimits): void {
  let room = entriesMax - root.folders.size - root.files.length;
  root.isOpen = true;
  let level = [...root.folders.values()];
  for (let depth = 1; depth < depthMax && level.length > 0; depth++) {
    const opened = level.filter((folder) => {
      const size = folder.folders.size + folder.files.length;
      folder.isOpen = size <= room;
      if (folder.isOpen) room -= size;
      return folder.isOpen;
    });
    level = opened.flatMap((folder) => [...folder.folders.values()]);
  }
}

function write(folder: Folder, indent: string, tree: FileTreeText): void {
  for (const [name, below] of [...folder.folders].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const count = below.isOpen ? "" : ` (${below.count} ${below.count === 1 ? "file" : "files"})`;
    tree.lines.push(`${indent}${shownPath(name)}/${count}`);
    if (below.isOpen) write(below, `${indent}  `, tree);
    else tree.hasClosed = true;
  }
  for (const name of folder.files.toSorted()) tree.lines.push(indent + shownPath(name));
}

/** A list of paths as an indented tree that fits: folders are opened from the top down while there is room. */
import { shownPath } from "../shown-text.ts";

interface Folder {
  folders: Map<string, Folder>;
  files: string[];
  /** Files in it and below. */
  count: number;
  isOpen: boolean;
}

export interface TreeRoom {
  entriesMax: number;
  /** How many levels are opened. */
  depthMax: number;
}

export interface Tree {
  lines: string[];
  /** Some folders are shown with the number of their files alone. */
  hasClosed: boolean;
}

export function treeOf(paths: readonly string[], room: TreeRoom): Tree {
  const root = folderOf(paths);
  open(root, room);
  const tree: Tree = { lines: [], hasClosed: false };
  write(root, "", tree);
  const over = tree.lines.length - room.entriesMax;
  // Only a folder that is larger than the room by itself gets here.
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

/** Breadth first, so that what is near the top is seen; a folder that does not fit stays closed, a later one may fit. */
function open(root: Folder, { entriesMax, depthMax }: TreeRoom): void {
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

function write(folder: Folder, indent: string, tree: Tree): void {
  for (const [name, below] of [...folder.folders].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const count = below.isOpen ? "" : ` (${below.count} ${below.count === 1 ? "file" : "files"})`;
    tree.lines.push(`${indent}${shownPath(name)}/${count}`);
    if (below.isOpen) write(below, `${indent}  `, tree);
    else tree.hasClosed = true;
  }
  for (const name of folder.files.toSorted()) tree.lines.push(indent + shownPath(name));
}

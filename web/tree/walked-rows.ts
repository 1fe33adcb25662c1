/** The rows of a tree that is walked by keys, of which only those in sight are in the document (U12). */
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { useWindowed } from "../parts/windowed.ts";

export interface WalkedNode {
  id: string;
  parentId: string | null;
  /** True if opening it shows more rows. */
  isFolded: boolean;
}

interface TreeRowsOptions {
  rowHeight: number;
  /** The row that Tab reaches first. */
  initial: string | null;
  /** If the row is folded, this resolves when what it stands for is there. */
  open(row: number): void | Promise<void>;
}

export interface TreeRows {
  box(element: HTMLDivElement | null): void;
  onScroll(): void;
  onKeyDown(event: KeyboardEvent): void;
  /** The row that Tab reaches. */
  at: number;
  /** The rows to draw, and the range that is in sight. */
  drawn: number[];
  from: number;
  to: number;
  /** Opens a row. Where a folded row was, the first of its rows has the focus then. */
  open(row: number): void;
  /** Makes a row the one that Tab reaches. */
  setCurrent(id: string): void;
}

/** The id in the document of a node's row. */
export function rowId(id: string): string {
  return `row-${id}`;
}

export function useTreeRows(nodes: readonly WalkedNode[], { rowHeight, initial, open }: TreeRowsOptions): TreeRows {
  const { box, from, to, onScroll, reveal, keepPlace } = useWindowed(nodes.length, rowHeight);
  const latest = useRef(nodes);
  latest.current = nodes;
  const current = useSignal<string | null>(null);
  const wanted = current.value ?? initial;
  const at = Math.max(
    0,
    nodes.findIndex(({ id }) => id === wanted),
  );
  const focus = (row: number): void => {
    const bounded = Math.max(0, Math.min(row, latest.current.length - 1));
    const node = latest.current[bounded];
    if (node === undefined) return;
    current.value = node.id;
    reveal(bounded);
    requestAnimationFrame(() => document.getElementById(rowId(node.id))?.focus({ preventScroll: true }));
  };
  const openRow = async (row: number): Promise<void> => {
    const goBack = nodes[row]?.isFolded === true ? keepPlace() : null;
    await open(row);
    if (goBack === null) return;
    // A row that has the focus and goes elsewhere takes the view with it.
    requestAnimationFrame(() => {
      goBack();
      focus(row);
    });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const isOnRow = event.target instanceof Element && event.target.role === "treeitem";
    if (!isOnRow || event.metaKey || event.ctrlKey || event.altKey) return;
    const step = stepOf(event.key, nodes, at);
    if (step === null) return;
    if (step === "open") void openRow(at);
    else focus(step);
    event.preventDefault();
    event.stopPropagation();
  };
  const inSight = Array.from({ length: to - from }, (_, step) => from + step);
  // The row that Tab reaches stays in the document, also when it is out of sight.
  const drawn = at < from || at >= to ? [at, ...inSight] : inSight;
  return {
    box,
    onScroll,
    onKeyDown,
    at,
    drawn,
    from,
    to,
    open: (row) => void openRow(row),
    setCurrent: (id) => void (current.value = id),
  };
}

/** Returns the row to which a key of a tree leads. Null: it is no such key. */
function stepOf(key: string, nodes: readonly WalkedNode[], at: number): number | "open" | null {
  const node = nodes[at];
  const or = (found: number): number => (found === -1 ? at : found);
  switch (key) {
    case "ArrowDown":
      return at + 1;
    case "ArrowUp":
      return at - 1;
    case "Home":
      return 0;
    case "End":
      return nodes.length - 1;
    case "PageDown":
      return at + 15;
    case "PageUp":
      return at - 15;
    case "ArrowLeft":
      return or(nodes.findIndex(({ id }) => id === node?.parentId));
    case "ArrowRight":
      return node?.isFolded === true ? "open" : or(nodes.findIndex(({ parentId }) => parentId === node?.id));
    case "Enter":
    case " ":
      return "open";
    default:
      return null;
  }
}

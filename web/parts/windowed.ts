/** A long list of rows of equal height, of which only those in sight are in the document. */
import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

/** Rows beyond the edges, so that scrolling and Tab meet no gap. */
const margin = 8;

export interface Windowed {
  /** The `ref` of the element that scrolls. */
  box(element: HTMLDivElement | null): void;
  /** The first row to draw, and the one after the last. */
  from: number;
  to: number;
  onScroll(): void;
  /** Scrolls as far as necessary to have the row in sight. */
  reveal(row: number): void;
  /** Returns what scrolls back to the place that is in sight now. */
  keepPlace(): () => void;
}

export function useWindowed(count: number, rowHeight: number): Windowed {
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const top = useSignal(0);
  const height = useSignal(800);
  useEffect(() => {
    if (box === null) return;
    const observer = new ResizeObserver(() => (height.value = box.clientHeight));
    observer.observe(box);
    return () => observer.disconnect();
  }, [box]);
  const from = Math.max(0, Math.min(Math.floor(top.value / rowHeight), count) - margin);
  return {
    box: setBox,
    from,
    to: Math.min(count, from + Math.ceil(height.value / rowHeight) + 2 * margin),
    onScroll: () => (top.value = box?.scrollTop ?? 0),
    keepPlace: () => {
      const place = box?.scrollTop ?? 0;
      return () => void (box !== null && (box.scrollTop = place));
    },
    reveal: (row) => {
      if (box === null) return;
      const [start, end] = [row * rowHeight, (row + 1) * rowHeight];
      if (start < box.scrollTop) box.scrollTop = start;
      else if (end > box.scrollTop + box.clientHeight) box.scrollTop = end - box.clientHeight;
    },
  };
}

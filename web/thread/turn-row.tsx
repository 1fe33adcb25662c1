/**
 * A turn of the conversation with its lane. Far from what a person sees, its answer is plain text in a row of the same height: a long
 * conversation keeps few elements, the layout stays where it is, and the browser's own search still finds every word.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { FollowedTurn } from "../api/running-turn.ts";
import type { ListedTurn, Thread } from "../api/thread.ts";
import { Branches } from "../tree/branches.tsx";
import { TurnArticle } from "./turn.tsx";

interface TurnRowProps {
  thread: Thread;
  turn: ListedTurn;
  /** The stream of the turn, if this tab follows it. */
  followed: FollowedTurn | null;
  isSelected: boolean;
}

export function TurnRow({ thread, turn, followed, isSelected }: TurnRowProps) {
  const row = useRef<HTMLDivElement>(null);
  /** The height of the row in pixels when it went out of sight. Null: it is near. */
  const [farHeight, setFarHeight] = useState<number | null>(null);
  const mayBeFar = turn.status === "completed" && (turn.answer?.length ?? 0) < farCharactersMax;
  useEffect(() => (mayBeFar ? watch(row.current, setFarHeight) : setFarHeight(null)), [mayBeFar]);
  return (
    <div class="turn-row" ref={row} style={{ height: farHeight === null ? "" : `${farHeight}px` }}>
      <Branches thread={thread} turn={turn} />
      <TurnArticle thread={thread} turn={turn} followed={followed} isSelected={isSelected} isFar={farHeight !== null} />
    </div>
  );
}

/** What takes long to draw again stays drawn. Only its newest blocks are elements. */
const farCharactersMax = 100_000;
/** A row is far if it is more than this share of the box away from what is seen. */
const margin = "200% 0px";

type Take = (farHeight: number | null) => void;
const takers = new WeakMap<Element, Take>();
const observers = new WeakMap<Element, IntersectionObserver>();

/** Watches how far away the row is, until the returned function is called. */
function watch(row: HTMLElement | null, take: Take): (() => void) | undefined {
  const box = row?.closest(".turns");
  if (row === null || box == null) return undefined;
  const observer = observers.get(box) ?? new IntersectionObserver(takeAll, { root: box, rootMargin: margin });
  observers.set(box, observer);
  takers.set(row, take);
  observer.observe(row);
  return () => {
    observer.unobserve(row);
    waiting.delete(row);
  };
}

function takeAll(entries: readonly IntersectionObserverEntry[]): void {
  for (const { target, isIntersecting, boundingClientRect } of entries) {
    waiting.delete(target);
    if (!isIntersecting && !isHeld(target)) takers.get(target)?.(boundingClientRect.height);
    if (isIntersecting) waiting.add(target);
  }
  drawWaiting();
}

/** Rows that have come near and are not drawn yet, because that would take the mark of a search or a selection away. */
const waiting = new Set<Element>();

function drawWaiting(): void {
  for (const row of waiting) {
    if (isSearching() || isHeld(row)) continue;
    waiting.delete(row);
    takers.get(row)?.(null);
  }
}

/** How long after a turn of the wheel or a movement of a finger a row counts as scrolled to by hand, in milliseconds. */
const byHandMs = 1_000;
let scrolledAt = -byHandMs;

/**
 * Returns true while a person seems to search with the browser's own bar: the page does not have the focus, and is scrolled without a hand.
 * No browser tells a page that it searches.
 */
function isSearching(): boolean {
  return !document.hasFocus() && performance.now() - scrolledAt > byHandMs;
}

for (const kind of ["wheel", "touchmove"])
  addEventListener(kind, () => (scrolledAt = performance.now()), { passive: true });
addEventListener("focus", drawWaiting);
document.addEventListener("selectionchange", drawWaiting);

/** Returns true if a person has the focus or a selection in the row, which would be lost. */
function isHeld(row: Element): boolean {
  const selection = getSelection();
  return (
    row.contains(document.activeElement) || (selection?.isCollapsed === false && selection.containsNode(row, true))
  );
}

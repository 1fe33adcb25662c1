/** How the change of a file is shown: the lines that differ, with a few around them. */
import { limits } from "../../domain/limits.ts";
import type { ToolCallView, ToolContent } from "../../domain/tool.ts";
import type { Place } from "../session-folders.ts";
import { shownPath } from "../shown-text.ts";

const linesAround = 3;

export interface Change {
  /** As people and editors know it. */
  path: string;
  /** Null: the file is new. */
  before: string | null;
  after: string;
}

export interface ShownChange {
  content: ToolContent[];
  /** The first line that differs, from 1. */
  line: number;
}

interface ViewedChange {
  verb: "Create" | "Write" | "Edit";
  place: Place;
  before: string | null;
  after: string;
}

/** Whoever allows one change for ever allows all of them in that folder. */
export function changeView({ verb, place, before, after }: ViewedChange): ToolCallView {
  const { content, line } = shownChange({ path: place.known, before, after });
  return {
    title: `${verb} ${place.shown}`,
    kind: "edit",
    locations: [{ path: place.known, line }],
    content,
    permission: { key: `write ${place.folder}`, label: `change files in ${shownPath(place.folder)}` },
  };
}

/** Never a part of a change: one that is too large is told by its size. */
export function shownChange({ path, before, after }: Change): ShownChange {
  const region = before === null ? { oldText: null, newText: after, line: 1 } : differing(before, after);
  const { oldText, newText, line } = region;
  if ((oldText?.length ?? 0) + newText.length > limits.diffCharactersMax) {
    const from = oldText === null ? "new, with" : `from ${linesText(oldText)} to`;
    return { content: [{ type: "text", text: `too large to show: ${from} ${linesText(newText)}` }], line };
  }
  return { content: [{ type: "diff", path, oldText, newText }], line };
}

function differing(before: string, after: string): { oldText: string; newText: string; line: number } {
  const [old, young] = [linesOf(before), linesOf(after)];
  const shorter = Math.min(old.length, young.length);
  let same = 0;
  while (same < shorter && old[same] === young[same]) same++;
  let sameAtEnd = 0;
  while (sameAtEnd < shorter - same && old.at(-1 - sameAtEnd) === young.at(-1 - sameAtEnd)) sameAtEnd++;
  const from = Math.max(0, same - linesAround);
  const toEnd = Math.max(0, sameAtEnd - linesAround);
  const part = (lines: string[]): string => lines.slice(from, lines.length - toEnd).join("");
  return { oldText: part(old), newText: part(young), line: same + 1 };
}

/** Each with its line feed. */
function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/);
}

/** "1 line", "12 lines". */
export function linesText(text: string): string {
  let lines = text === "" || text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++;
  return lines === 1 ? "1 line" : `${lines} lines`;
}

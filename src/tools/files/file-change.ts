/** Shows a change of a file: the lines that differ, with a few lines around them. */
import { resolve } from "node:path";
import { limits } from "../../domain/limits.ts";
import type { ToolCallView, ToolContent } from "../../domain/tool.ts";
import type { SessionPath } from "../session-folders.ts";
import { shownPath, visibleText } from "../shown-text.ts";
import { selfRunning } from "./self-running.ts";

const linesAround = 3;

export interface TextFileChange {
  /** The path as people and editors know it. */
  path: string;
  /** The old text. Null if the file is new. */
  before: string | null;
  after: string;
}

export interface ShownFileChange {
  content: ToolContent[];
  /** The number of the first line that differs, from 1. */
  line: number;
}

interface ViewedChange {
  verb: "Create" | "Write" | "Edit";
  target: SessionPath;
  before: string | null;
  after: string;
}

/**
 * Returns the view of a change. Its permission covers every change in the session's folder that contains the file, except for
 * files that run by themselves: each of their changes is asked.
 */
export function changeView({ verb, target, before, after }: ViewedChange): ToolCallView {
  const { content, line } = shownChange({ path: target.known, before, after });
  // A link can give such a file another name, in both directions.
  const why =
    selfRunning(target.folder, target.real) ?? selfRunning(target.folder, resolve(target.folder, target.shown));
  const note = `${target.shown} runs by itself: ${why}. So each change of it is asked.`;
  return {
    title: `${verb} ${target.shown}`,
    kind: "edit",
    locations: [{ path: target.known, line }],
    content: why === null ? content : [{ type: "text", text: note }, ...content],
    permission:
      why !== null ? null : { key: `write ${target.folder}`, label: `change any file in ${shownPath(target.folder)}` },
  };
}

/** Returns the change as a diff, never a part of it. Of a change that is too large, its size and both of its ends are shown. */
export function shownChange({ path, before, after }: TextFileChange): ShownFileChange {
  const region = before === null ? { oldText: null, newText: after, line: 1 } : differing(before, after);
  const { oldText, newText, line } = region;
  if ((oldText?.length ?? 0) + newText.length > limits.diffCharactersMax) {
    return { content: [{ type: "text", text: largeChange(path, oldText, newText) }], line };
  }
  return { content: [{ type: "diff", path, oldText, newText }], line };
}

function largeChange(path: string, oldText: string | null, newText: string): string {
  const from = oldText === null ? "it is new, with" : `from ${linesText(oldText)} to`;
  const parts = [
    `${shownPath(path)} is too large to show whole: ${from} ${linesText(newText)}. To see all of a change, answer no and ask for smaller ones.`,
    ...(oldText === null ? [] : ["--- removed", ends(oldText)]),
    "+++ written",
    ends(newText),
  ];
  return parts.join("\n");
}

/** Returns both ends of a text, and between them how much is left out. Nothing in them is hidden. */
function ends(text: string): string {
  const part = limits.diffPartCharactersMax;
  if (text.length <= 2 * part) return visibleText(text);
  const [first, middle, last] = [text.slice(0, part), text.slice(part, -part), text.slice(-part)];
  const left = `⟨${linesText(middle)}, ${middle.length} characters are not shown⟩`;
  return [first, left, last].map((piece, at) => (at === 1 ? piece : visibleText(piece.toWellFormed()))).join("\n");
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

/** Splits the text into lines, each with its line feed. */
function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/);
}

/** Returns the number of lines in words: "1 line", "12 lines". */
export function linesText(text: string): string {
  let lines = text === "" || text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++;
  return lines === 1 ? "1 line" : `${lines} lines`;
}

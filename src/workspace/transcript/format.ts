/**
 * The format of a transcript: front matter, then a block for each message, in Markdown that people read and edit
 * (docs/formats/transcript.md). Pure. Parsing a rendered text returns the same messages byte for byte, whatever they contain (W4):
 *
 * - A line that would be parsed as the heading of a block gets a backslash in front.
 * - So does the first or last line of a message if it is blank, because blank lines around a message are not part of it.
 * - A line that would be parsed as such an escaped line gets one more backslash.
 *
 * Lone surrogates have no UTF-8 form and become U+FFFD. Messages that the engine stores have none.
 */
import { limits } from "../../domain/limits.ts";
import type { TranscriptFault, TranscriptMessage } from "../../domain/transcript.ts";
import { type FrontMatter, frontMatterEnd, renderFrontMatter } from "./front-matter.ts";

export type ParsedTranscript =
  | { kind: "transcript"; messages: TranscriptMessage[] }
  | ({ kind: "unreadable" } & TranscriptFault);

/** The line that begins a message. It must not be indented: an indented line is text. */
const head = "##[ \\t]+(user|assistant|system)[ \\t]*:?[ \\t]*\\r?";
const lineStart = "(?<![^\\n])";
const lineEnd = "(?![^\\n])";
const headPattern = new RegExp(`${lineStart}${head}${lineEnd}\\n?`, "gi");
const headToEscape = new RegExp(`${lineStart}(?=\\\\*${head}${lineEnd})`, "gi");
const escapedHead = new RegExp(`${lineStart}\\\\(?=\\\\*${head}${lineEnd})`, "gi");
const blankToEscape = /^\\*[ \t\r]*$/;
const escapedBlank = /^\\+[ \t\r]*$/;

const titles = { user: "User", assistant: "Assistant", system: "System" };

export function renderTranscript(front: FrontMatter, messages: readonly TranscriptMessage[]): string {
  return renderFrontMatter(front) + renderMessages(messages);
}

/** Renders the blocks to append to a text that is empty or ends with a line break. */
export function renderMessages(messages: readonly TranscriptMessage[]): string {
  return messages.map(({ role, text }) => `\n## ${titles[role]}\n${renderText(text.toWellFormed())}`).join("");
}

function renderText(text: string): string {
  if (text === "") return "";
  const escaped = text.replace(headToEscape, "\\");
  return `\n${changeEdges(escaped, (line) => (blankToEscape.test(line) ? `\\${line}` : line))}\n`;
}

/** Returns the text with its first and last line changed. */
function changeEdges(text: string, change: (line: string) => string): string {
  const firstEnd = text.indexOf("\n");
  if (firstEnd === -1) return change(text);
  const lastStart = text.lastIndexOf("\n") + 1;
  return change(text.slice(0, firstEnd)) + text.slice(firstEnd, lastStart) + change(text.slice(lastStart));
}

/** Parses a transcript. Never throws. A text with only blank lines and front matter has no messages. */
export function parseTranscript(content: Uint8Array): ParsedTranscript {
  if (content.length > limits.transcriptBytesMax) return unreadable(tooLargeReason(content.length));
  const text = decode(content);
  if (text === null) return unreadable("it is not UTF-8 text");
  const heads = [...text.matchAll(headPattern)];
  const firstHead = heads[0]?.index ?? text.length;
  const front = frontMatterEnd(text.slice(0, firstHead));
  if (front === null) return unreadable("its front matter, from line 1, has no end before the first message", 1);
  if (/[^ \t\r\n]/.test(text.slice(front, firstHead))) {
    const line = text.slice(0, front).split("\n").length + leadingBlankLines(text.slice(front, firstHead));
    return unreadable(`line ${line} is before the first "## User", "## Assistant" or "## System"`, line);
  }
  const messages = heads.map((found, index): TranscriptMessage => {
    const [line, role = ""] = found;
    const body = text.slice(found.index + line.length, heads[index + 1]?.index);
    return { role: role.toLowerCase() as TranscriptMessage["role"], text: parseText(body, /\r\n?$/.test(line)) };
  });
  return { kind: "transcript", messages };
}

export function tooLargeReason(bytes: number): string {
  return `it has ${bytes} bytes, and at most ${limits.transcriptBytesMax} are read`;
}

function unreadable(reason: string, line: number | null = null): ParsedTranscript {
  return { kind: "unreadable", reason, line };
}

/** Decodes UTF-8 text, without the byte order mark that some editors write. Null if it is not UTF-8. */
function decode(content: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return null;
  }
}

function leadingBlankLines(text: string): number {
  return (/^[ \t\r\n]*/.exec(text)?.[0] ?? "").split("\n").length - 1;
}

/**
 * Parses the text of a block. `hasCrLf` is true if the heading of the block ends with CRLF: then an editor with such line
 * endings wrote the whole block. In other blocks a CR is part of the text.
 */
function parseText(body: string, hasCrLf: boolean): string {
  const lines = withoutBlankEdges(hasCrLf ? body.replaceAll("\r\n", "\n") : body);
  return changeEdges(lines, (line) => (escapedBlank.test(line) ? line.slice(1) : line)).replace(escapedHead, "");
}

/** Returns the text without the blank lines at both ends. The other lines are unchanged. */
function withoutBlankEdges(text: string): string {
  let [first, last] = [0, text.length];
  while (first < last && isBlank(text.charCodeAt(first))) first += 1;
  while (last > first && isBlank(text.charCodeAt(last - 1))) last -= 1;
  if (first === last) return "";
  const end = text.indexOf("\n", last);
  return text.slice(text.lastIndexOf("\n", first) + 1, end === -1 ? text.length : end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

/**
 * Reads the parts of user messages (E2, E3): mode, instruction, chunks and files. Only a fence of the same length closes
 * a fence, so the content of a chunk or file is always read as text.
 */
import type { HistoryItem } from "../../domain/history.ts";

/** A chunk, a file, or a text that came with the instruction (I1). */
export interface QuotableSource {
  kind: "chunk" | "file";
  path: string;
  /** The number of the first line of `text` in its file, counted from 1. */
  startLine: number;
  language: string;
  /** The hash of a file; null for chunks. */
  sha256: string | null;
  text: string;
}

export interface UserMessage {
  /** The mode; null if the message does not have our form. */
  mode: string | null;
  instruction: string;
  sources: QuotableSource[];
  /** The paths whose versions in earlier messages no longer count, because its note says so (X6). */
  outdated: string[];
}

function readMessage(parts: readonly string[]): UserMessage {
  const [first = "", ...others] = parts;
  const form = /^\[MODE: ([^\n]*)\]\n\n\[INSTRUCTION\]\n/.exec(first);
  if (form === null) return { mode: null, instruction: parts.join("\n\n"), sources: [], outdated: [] };
  const contexts = others.filter((part) => part.startsWith("[CONTEXT]\n"));
  return {
    mode: form[1] ?? "",
    instruction: first.slice(form[0].length),
    sources: contexts.flatMap(readContext),
    outdated: others.flatMap((part) => (part.startsWith("[NOTE]\n") ? outdatedPaths(part) : [])),
  };
}

function outdatedPaths(note: string): string[] {
  const lines = note.matchAll(/^- (.+?) (?:does not exist any more\.|was renamed to .*|has another content now.*)$/gm);
  return [...lines].map(([, path = ""]) => path);
}

function readContext(block: string): QuotableSource[] {
  const lines = block.split("\n");
  const sources: QuotableSource[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const kind = /^=== (CHUNK|FILE|INPUT) \d+ ===$/.exec(lines[at] ?? "")?.[1];
    if (kind === undefined) continue;
    const read = readBlock(lines, at + 1, kind === "CHUNK" ? "chunk" : "file");
    if (read === null) continue;
    sources.push(read.source);
    at = read.end;
  }
  return sources;
}

/** Reads from the line after the header to the closing fence. Returns null if there is no fence. */
function readBlock(
  lines: readonly string[],
  start: number,
  kind: QuotableSource["kind"],
): { source: QuotableSource; end: number } | null {
  const fields = new Map<string, string>();
  let at = start;
  for (; at < lines.length; at += 1) {
    const field = /^([A-Z][A-Za-z0-9]*): (.*)$/.exec(lines[at] ?? "");
    if (field === null) break;
    fields.set(field[1] ?? "", field[2] ?? "");
  }
  const fence = /^`{3,}/.exec(lines[at] ?? "")?.[0];
  const end = fence === undefined ? -1 : lines.indexOf(fence, at + 1);
  if (end === -1) return null;
  const source: QuotableSource = {
    kind,
    path: fields.get("Path") ?? fields.get("Name") ?? "",
    startLine: Number(/^\d+/.exec(fields.get("Lines") ?? "")?.[0] ?? 1),
    language: fields.get("Language") ?? "",
    sha256: fields.get("Sha256") ?? null,
    text: lines.slice(at + 1, end).join("\n"),
  };
  return { source, end };
}

export interface OfflineConversation {
  /** The last message; null if there is none. */
  last: UserMessage | null;
  /**
   * The sources of the whole conversation that are still valid: the newest version of each file, and no chunk of a path
   * whose file is there (X6). The sources of the last message come first.
   */
  sources: QuotableSource[];
  /** The number of sources that came with earlier messages. */
  earlier: number;
}

export function readConversation(items: readonly HistoryItem[]): OfflineConversation {
  const messages = items.flatMap((item) => (item.type === "user" ? [readMessage(item.parts)] : []));
  const byLocation = new Map<string, QuotableSource>();
  const outdated = new Set<string>();
  for (const message of messages.toReversed()) {
    for (const source of message.sources.filter(({ path }) => !outdated.has(path))) {
      const location = source.kind === "file" ? source.path : `${source.path}:${source.startLine}:${source.text}`;
      if (!byLocation.has(location)) byLocation.set(location, source);
    }
    message.outdated.forEach((path) => outdated.add(path));
  }
  const all = [...byLocation.values()];
  const files = new Set(all.flatMap((source) => (source.kind === "file" ? [source.path] : [])));
  const sources = all.filter((source) => source.kind === "file" || !files.has(source.path));
  const last = messages.at(-1) ?? null;
  const earlier = sources.filter((source) => last?.sources.includes(source) !== true).length;
  return { last, sources, earlier };
}

/**
 * The search thread: reads files and tries a pattern on every line. A regular expression can run without end, and only
 * ending its thread stops it. So it never runs in another thread.
 */
import { closeSync, existsSync, fstatSync, openSync, readlinkSync, readSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { parentPort } from "node:worker_threads";
import { readRegularFlags } from "../../system/read-files.ts";
import { lineMatcher } from "./line-matcher.ts";
import type { SearchJob, SearchMessage } from "./search-job.ts";

const hasDescriptors = existsSync("/proc/self/fd");

parentPort?.on("message", (job: SearchJob) => {
  search(job, (message) => parentPort?.postMessage(message, []));
});
parentPort?.postMessage({ type: "ready" } satisfies SearchMessage, []);

type SendMessage = (message: SearchMessage) => void;

function search(job: SearchJob, send: SendMessage): void {
  const matcher = lineMatcher(job);
  if ("fault" in matcher) {
    send({ type: "fault", fault: matcher.fault });
    return;
  }
  const position = new Int32Array(job.position);
  const reader = new FileReader(job);
  let [searched, matches, characters] = [0, 0, 0];
  for (const [index, path] of job.paths.entries()) {
    Atomics.store(position, 0, index);
    const found = reader.read(path, (content) => {
      searched++;
      // A byte order mark is not part of the first line, as with "read".
      const text = content.toString("utf8").replace(/^\ufeff/, "");
      if (!matcher.mayBeIn(text)) return null;
      return matchesIn(text, { ...job, lineMatch: matcher.lineMatch, left: job.matchesMax - matches });
    });
    if (found === null) continue;
    send({ type: "file", path, ...found });
    matches += found.matches;
    characters += found.lines.reduce((sum, line) => sum + line.length, path.length);
    if (matches >= job.matchesMax || characters >= job.charactersMax) break;
  }
  const isCut = matches >= job.matchesMax || characters >= job.charactersMax;
  send({ type: "done", filesSearched: searched, tooLarge: reader.tooLarge, isCut });
}

interface Lines {
  lineMatch(line: string): number;
  contextLines: number;
  lineCharactersMax: number;
  /** The number of matches that may still be returned. */
  left: number;
}

interface Found {
  lines: string[];
  matches: number;
}

/** Returns the matching lines with their context. Null if no line matches. */
function matchesIn(text: string, { lineMatch, contextLines, lineCharactersMax, left }: Lines): Found | null {
  const all = text.split("\n");
  // The empty text after the last line feed is not a line.
  if (all.at(-1) === "") all.pop();
  const found: { index: number; at: number }[] = [];
  for (const [index, line] of all.entries()) {
    const at = lineMatch(line.endsWith("\r") ? line.slice(0, -1) : line);
    if (at !== -1 && found.push({ index, at }) >= left) break;
  }
  if (found.length === 0) return null;
  const lines: string[] = [];
  let last = -1;
  for (const [rank, { index, at }] of found.entries()) {
    const from = Math.max(last + 1, index - contextLines);
    if (contextLines > 0 && last >= 0 && from > last + 1) lines.push("--");
    for (let near = from; near < index; near++)
      lines.push(`${near + 1}-${part(all[near] ?? "", 0, lineCharactersMax)}`);
    lines.push(`${index + 1}:${part(all[index] ?? "", at, lineCharactersMax)}`);
    last = index;
    const next = found[rank + 1]?.index ?? all.length;
    for (; last < Math.min(index + contextLines, next - 1, all.length - 1); last++)
      lines.push(`${last + 2}-${part(all[last + 1] ?? "", 0, lineCharactersMax)}`);
  }
  return { lines, matches: found.length };
}

/** Returns the line, or the part of a long line around the match. */
function part(line: string, at: number, max: number): string {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  if (text.length <= max) return text;
  const from = Math.max(0, Math.min(at - max / 4, text.length - max));
  return `${from > 0 ? "…" : ""}${text.slice(from, from + max)}${from + max < text.length ? "…" : ""}`.toWellFormed();
}

/** Reads text files below one folder and nothing else, even if a path has been changed since it was listed. */
class FileReader {
  tooLarge = 0;
  readonly #job: SearchJob;
  #buffer = Buffer.allocUnsafe(262_144);
  /** Remembers which folders have no link in their path, on systems that cannot report the path of an open file. */
  readonly #plain = new Map<string, boolean>();

  constructor(job: SearchJob) {
    this.#job = job;
  }

  /**
   * Returns what `look` finds in the content, whose buffer is valid only until `look` returns. Null if it finds nothing, or
   * if the file is gone, not a regular file, not text, too large, or behind a link.
   */
  read<T>(path: string, look: (content: Buffer) => T | null): T | null {
    const known = join(this.#job.folder, path);
    const file = this.#open(known);
    if (file === null) return null;
    try {
      const content = this.#content(file);
      const found = content === null ? null : look(content);
      // Only files with a match are reported, and few have one. So only now is the file's real path checked.
      return found === null || !isAt(file, known) ? null : found;
    } catch (error) {
      // The file cannot be read. The search continues without it.
      if (error instanceof Error && "syscall" in error) return null;
      throw error;
    } finally {
      closeSync(file);
    }
  }

  #open(path: string): number | null {
    try {
      return hasDescriptors || this.#isPlain(dirname(path)) ? openSync(path, readRegularFlags) : null;
    } catch {
      return null;
    }
  }

  #content(file: number): Buffer | null {
    const stats = fstatSync(file);
    if (!stats.isFile()) return null;
    if (stats.size > this.#job.fileBytesMax) {
      this.tooLarge++;
      return null;
    }
    if (stats.size > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(stats.size);
    let bytes = 0;
    for (let more = -1; more !== 0 && bytes < stats.size; bytes += more)
      more = readSync(file, this.#buffer, bytes, stats.size - bytes, null);
    const content = this.#buffer.subarray(0, bytes);
    // The whole content counts, so that what is searched can also be read.
    return content.includes(0) ? null : content;
  }

  #isPlain(folder: string): boolean {
    let isPlain = this.#plain.get(folder);
    if (isPlain === undefined) {
      isPlain = realpathSync(folder) === folder;
      this.#plain.set(folder, isPlain);
    }
    return isPlain;
  }
}

/** Returns true if an open file is at its path without a link on the way. A link may lead to a closed folder. */
function isAt(file: number, path: string): boolean {
  return !hasDescriptors || readlinkSync(`/proc/self/fd/${file}`) === path;
}

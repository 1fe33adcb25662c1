/**
 * What was typed in chats before, over sessions: a file for its owner alone, a line of JSON each, oldest first. A line
 * that begins with a blank is not kept, as in a shell; nor are answers to questions.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { writePrivateFile } from "../../../system/durable-files.ts";

const entriesMax = 1_000;
/** Larger ones were pasted, and are not looked for again. */
const entryCharactersMax = 8_192;
const fileBytesMax = 4_194_304;

export class InputHistory {
  #file: string | null;
  readonly #entries: string[];
  /** Where the arrows are; at the end stands what was being typed. */
  #at: number;
  #draft = "";

  /** Null: it is kept for this chat only. */
  constructor(file: string | null) {
    this.#file = file;
    this.#entries = file === null ? [] : readEntries(file);
    this.#at = this.#entries.length;
  }

  add(text: string): void {
    this.#at = this.#entries.length;
    const isKept = text.trim() !== "" && !text.startsWith(" ") && text.length <= entryCharactersMax;
    if (!isKept || text === this.#entries.at(-1)) return;
    this.#entries.push(text);
    this.#at = this.#entries.length;
    if (this.#file !== null && !append(this.#file, text)) this.#file = null;
  }

  /** The entry before or after, or what was being typed; null: there is none. */
  step(direction: "older" | "newer", typed: string): string | null {
    const to = this.#at + (direction === "older" ? -1 : 1);
    if (to < 0 || to > this.#entries.length) return null;
    if (this.#at === this.#entries.length) this.#draft = typed;
    this.#at = to;
    return this.#entries[to] ?? this.#draft;
  }

  /** The arrows begin at the end again. */
  rest(): void {
    this.#at = this.#entries.length;
  }

  /** The newest entry with this text that is older than the last `skip` that were found; null: there is none. */
  find(part: string, skip: number): string | null {
    const found = this.#entries.toReversed().filter((entry) => entry.includes(part));
    return found[skip] ?? null;
  }
}

function readEntries(file: string): string[] {
  const text = textOf(file);
  const entries = text.split("\n").flatMap((line) => {
    const entry = entryOf(line);
    return entry === null ? [] : [entry];
  });
  const kept = entries.slice(-entriesMax);
  if (entries.length > entriesMax * 2 || text.length > fileBytesMax) rewrite(file, kept);
  return kept;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // There is none yet, or it cannot be read: a chat goes without.
    return "";
  }
}

function entryOf(line: string): string | null {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === "string" ? entry : null;
  } catch {
    // A line that was cut by a full disk, or is empty.
    return null;
  }
}

/** False: it is not found again, and neither is what comes. What is typed must not be lost to a full disk. */
function append(file: string, text: string): boolean {
  try {
    appendFileSync(file, `${JSON.stringify(text)}\n`, { mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}

/** Returns false if the file could not be replaced: it stays longer than it needs to be. */
function rewrite(file: string, entries: readonly string[]): boolean {
  try {
    writePrivateFile(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    return true;
  } catch {
    return false;
  }
}

/**
 * The lines that were typed in earlier chats: a file that only its owner can read, one line of JSON each, oldest first.
 * As in a shell, a line that begins with a blank is not kept. Answers to questions are not kept either.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { writePrivateFile } from "../../../system/durable-files.ts";

const entriesMax = 1_000;
/**
 * The longest line that is kept, in characters. Longer ones were pasted, and a person does not search for them again.
 */
const entryCharactersMax = 8_192;
const fileBytesMax = 4_194_304;

export class InputHistory {
  #file: string | null;
  readonly #entries: string[];
  /** The position of the arrow keys. After the last entry it is the line being typed. */
  #at: number;
  #draft = "";

  /** The file. Null: the history is kept for this chat only. */
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

  /** Returns the entry before or after the position, or the line being typed. Null if there is none. */
  step(direction: "older" | "newer", typed: string): string | null {
    const to = this.#at + (direction === "older" ? -1 : 1);
    if (to < 0 || to > this.#entries.length) return null;
    if (this.#at === this.#entries.length) this.#draft = typed;
    this.#at = to;
    return this.#entries[to] ?? this.#draft;
  }

  /** Moves the position behind the last entry. */
  rest(): void {
    this.#at = this.#entries.length;
  }

  /** Finds the newest entry with this text, skipping the `skip` newest matches. Null if there is none. */
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
    // The file does not exist yet or cannot be read. The chat works without it.
    return "";
  }
}

function entryOf(line: string): string | null {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === "string" ? entry : null;
  } catch {
    // The line is empty, or was cut when the disk was full.
    return null;
  }
}

/**
 * Appends an entry. Returns false if that fails; then no more entries are written. The typed line must not be lost
 * because the disk is full.
 */
function append(file: string, text: string): boolean {
  try {
    appendFileSync(file, `${JSON.stringify(text)}\n`, { mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}

/** Shortens the file. Returns false if that fails; then the file stays longer than needed. */
function rewrite(file: string, entries: readonly string[]): boolean {
  try {
    writePrivateFile(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    return true;
  } catch {
    return false;
  }
}

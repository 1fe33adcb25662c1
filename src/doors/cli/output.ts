/**
 * The output of the command line: results go to standard output, everything else to standard error. Text of others (a model, a
 * file's name) is made harmless where it leaves: its control characters and invisible characters are shown as codes. JSON
 * and what `write` sends to a pipe stay exact.
 */
import { cutText } from "../../domain/one-line.ts";
import type { Writable } from "node:stream";
import pc from "picocolors";
import { harmlessText, neededBeforeMax } from "../../tools/shown-text.ts";
import type { CliIo } from "./ports.ts";
import { tableLines, type TableFit } from "./show/table.ts";

export type OutputStyle = ReturnType<typeof pc.createColors>;

export class CliOutput {
  readonly #io: CliIo;
  /** Styles for standard output. They do nothing where the stream is not a terminal. */
  readonly style: OutputStyle;
  readonly noteStyle: OutputStyle;
  readonly isTerminal: boolean;
  readonly isNoteTerminal: boolean;
  /** Aborts when the reader of standard output has gone (`| head`). */
  readonly closed: AbortSignal;
  #fault: Error | null = null;
  readonly #pieces = new HarmlessPieces();
  #screen: ((text: string) => void) | null = null;

  constructor(io: CliIo, options: { color: boolean }) {
    this.#io = io;
    this.isTerminal = io.stdout.isTTY === true;
    this.isNoteTerminal = io.stderr.isTTY === true;
    const wanted = options.color && (io.env["NO_COLOR"] ?? "") === "" && io.env["TERM"] !== "dumb";
    const forced = wanted && (io.env["FORCE_COLOR"] ?? "0") !== "0";
    this.style = pc.createColors(forced || (wanted && this.isTerminal));
    this.noteStyle = pc.createColors(forced || (wanted && this.isNoteTerminal));
    const closed = new AbortController();
    this.closed = closed.signal;
    for (const stream of [io.stdout, io.stderr]) {
      stream.on("error", (error) => {
        // Notes that cannot be written fail nothing. The result counts.
        if (stream === io.stderr) return;
        this.#failed(error);
        closed.abort();
      });
    }
  }

  #failed(error: NodeJS.ErrnoException): void {
    if (error.code !== "EPIPE" && error.code !== "ERR_STREAM_DESTROYED") this.#fault ??= error;
  }

  /** Writes a line of the result for people. */
  line(text = ""): void {
    this.#send(`${this.#harmless(text, this.style)}\n`);
  }
  /** Writes a text of others, or a piece of one, of which a pipe gets each byte: an answer, a request. */
  write(text: string | Uint8Array): void {
    if (!this.isTerminal) return this.#send(text);
    this.#send(this.#pieces.push(typeof text === "string" ? text : Buffer.from(text).toString()));
  }
  /** Writes a line of which a pipe gets each byte. A terminal gets the styles of this program too. */
  exactLine(text: string): void {
    if (this.isTerminal) this.line(text);
    else this.#send(`${text}\n`);
  }
  json(value: unknown): void {
    this.#json(JSON.stringify(value, null, this.isTerminal ? 2 : undefined));
  }
  /** Writes a value as one line, for readers of many values. */
  jsonLine(value: unknown): void {
    this.#json(JSON.stringify(value));
  }
  /** JSON allows control characters from U+007F on in its texts. A terminal gets their codes, which mean the same. */
  #json(text: string): void {
    this.#send(`${this.isTerminal ? harmlessText(text, { as: jsonCode }) : text}\n`);
  }
  /** Writes a line beside the result: progress, a hint or a warning. */
  note(text = ""): void {
    this.noteRaw(`${this.#harmless(text, this.noteStyle)}\n`);
  }
  /** Writes text that may move the cursor. It must have no text of others. */
  noteRaw(text: string): void {
    if (this.#screen !== null && this.isNoteTerminal) this.#screen(text);
    else this.#io.stderr.write(text);
  }
  #send(text: string | Uint8Array): void {
    if (this.#screen !== null && typeof text === "string") this.#screen(text);
    else if (!this.closed.aborted) this.#io.stdout.write(text);
  }
  /** Everything for people leaves through here. Only the styles of this program stay, and only where there are styles. */
  #harmless(text: string, { isColorSupported }: OutputStyle): string {
    if (!isColorSupported) return neutralize(text);
    return text
      .split(ownStyles)
      .map((part, at) => (at % 2 === 0 ? neutralize(part) : part))
      .join("");
  }

  /**
   * Sends all output for the terminal to the screen that owns the terminal's last lines, until it is called with null.
   */
  showOn(screen: ((text: string) => void) | null): void {
    this.#screen = screen;
  }

  /** Makes text of others safe beside styles of our own on standard output, so that it has none. */
  safe(text: string): string {
    return this.isTerminal ? neutralize(text) : text;
  }
  /** The same for standard error. */
  safeNote(text: string): string {
    return this.isNoteTerminal ? neutralize(text) : text;
  }

  /**
   * Prints rows in columns, without control characters of others. On a terminal they are fitted to its width, and have the headings: in a
   * pipe, every line is a row.
   */
  table(
    rows: readonly (readonly string[])[],
    { headings, ...fit }: Omit<TableFit, "width"> & { headings?: readonly string[] } = {},
  ): void {
    const hasHeadings = this.isTerminal && headings !== undefined;
    const [first, ...more] = this.rows(hasHeadings ? [headings, ...rows] : rows, fit);
    if (first !== undefined) this.line(hasHeadings ? this.style.dim(first) : first);
    for (const line of more) this.line(line);
  }
  /** Returns the lines of `table`. `indent`: the blanks that will stand before each. */
  rows(
    rows: readonly (readonly string[])[],
    { indent = 0, ...fit }: Omit<TableFit, "width"> & { indent?: number } = {},
  ): string[] {
    const safe = rows.map((row) => row.map((cell) => neutralize(cell)));
    return tableLines(safe, { ...fit, width: this.isTerminal ? this.width - indent : null });
  }

  /** The width of standard output in characters. */
  get width(): number {
    return this.#io.stdout.columns ?? 120;
  }
  /** True if the cursor of the terminal can be moved. */
  get canRedraw(): boolean {
    return this.isTerminal && this.#io.env["TERM"] !== "dumb";
  }

  /**
   * Resolves when all output has left the process, with the reason if the result could not be written, for example because the disk is
   * full. Null also if its reader has gone.
   */
  async flush(): Promise<Error | null> {
    const [error] = await Promise.all([flushed(this.#io.stdout), flushed(this.#io.stderr)]);
    if (error !== null) this.#failed(error);
    return this.#fault;
  }
}

function flushed(stream: Writable): Promise<Error | null> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) resolve(null);
    else stream.write("", (error) => resolve(error ?? null));
  });
}

/** The styles that this program has. None of them hides a text: black, and backgrounds but that of a square code, are not among them. */
const ownStyles = /(\u001b\[(?:[1-49]|2[2349]|3[1-69]|4[09]|97)m)/;

/**
 * Makes control characters and invisible characters visible, so that no text can move the cursor, set the title, fill the
 * clipboard, reverse the direction of the text beside it, or hide. Line feeds and tabs stay. `before` is the end of the text
 * that stands before this one.
 */
export function neutralize(text: string, before = ""): string {
  // Most text has only these. Unicode lists the symbols for control characters in the order of the characters themselves.
  if (/^[\n\t -~]*$/.test(text)) return text;
  return harmlessText(
    text
      .replaceAll("\r\n", "\n")
      .replace(/[\0-\u0008\u000b-\u001f]/g, (letter) => String.fromCharCode(0x2400 + letter.charCodeAt(0))),
    { before },
  );
}

/** Neutralizes a text that arrives in pieces. A provider cuts between the characters of a picture, each of which needs the one before. */
export class HarmlessPieces {
  #before = "";

  push(piece: string): string {
    const shown = neutralize(piece, this.#before);
    this.#before = (this.#before + piece).slice(-neededBeforeMax);
    return shown;
  }
}

/** The code of a character in JSON: one for each code unit. */
function jsonCode(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");
}

/** Returns the first line of a text that is not blank, cut to `width` characters. */
export function firstLine(text: string, width: number): string {
  const line = text.split(/\r\n|\r|\n/).find((each) => each.trim() !== "") ?? "";
  return cutText(line.trim(), width);
}

/** Formats a duration: `340 ms`, `1.2 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

export function bytes(count: number): string {
  if (count < 1_024) return `${count} B`;
  return count < 1_048_576 ? `${(count / 1_024).toFixed(1)} KB` : `${(count / 1_048_576).toFixed(1)} MB`;
}

/** Formats an amount of US dollars with four digits, so that a cheap turn is not `$0.00`. */
export function dollars(amount: number): string {
  return `$${amount.toFixed(4)}`;
}

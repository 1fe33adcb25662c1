/** The text that is being typed: several lines and a cursor between characters. It does not depend on a terminal. */
import { graphemes } from "./cells.ts";

const wordBefore = /[\p{L}\p{N}_]+[^\p{L}\p{N}_]*$|[^\p{L}\p{N}_]+$/u;
const wordAfter = /^[^\p{L}\p{N}_]*[\p{L}\p{N}_]+|^[^\p{L}\p{N}_]+/u;

export class LineEditor {
  #before = "";
  #after = "";
  /** The text that was cut last, for pasting it back. */
  #cut = "";

  get text(): string {
    return this.#before + this.#after;
  }
  get before(): string {
    return this.#before;
  }
  get after(): string {
    return this.#after;
  }
  get isEmpty(): boolean {
    return this.text === "";
  }
  /** Returns true if no line is above the cursor, or none below it. */
  get isOnFirstLine(): boolean {
    return !this.#before.includes("\n");
  }
  get isOnLastLine(): boolean {
    return !this.#after.includes("\n");
  }

  /** Replaces the text and moves the cursor to its end. */
  set(text: string): void {
    this.#before = text;
    this.#after = "";
  }

  /** Empties the editor and returns its text. */
  take(): string {
    const { text } = this;
    this.set("");
    return text;
  }

  insert(text: string): void {
    this.#before += text;
  }

  /** Replaces the last characters before the cursor. */
  replaceBefore(count: number, text: string): void {
    this.#before = this.#before.slice(0, this.#before.length - count) + text;
  }

  erase(direction: "back" | "ahead"): void {
    if (direction === "back") this.#before = this.#before.slice(0, -lastOf(this.#before).length || undefined);
    else this.#after = this.#after.slice(firstOf(this.#after).length);
  }

  move(direction: "left" | "right"): void {
    this.#shift(direction === "left" ? -lastOf(this.#before).length : firstOf(this.#after).length);
  }

  moveWord(direction: "left" | "right"): void {
    const found = direction === "left" ? wordBefore.exec(this.#before) : wordAfter.exec(this.#after);
    const length = found?.[0].length ?? 0;
    this.#shift(direction === "left" ? -length : length);
  }

  /** Moves the cursor to the beginning or the end of its line. */
  moveToEdge(edge: "start" | "end"): void {
    this.#shift(edge === "start" ? -this.#lineBefore().length : this.#lineAfter().length);
  }

  /**
   * Moves the cursor to the line above or below, at the same column. The caller has checked that there is such a line.
   */
  moveLine(direction: "up" | "down"): void {
    const column = graphemes(this.#lineBefore()).length;
    if (direction === "up") {
      this.moveToEdge("start");
      this.#shift(-1);
      this.moveToEdge("start");
    } else {
      this.moveToEdge("end");
      this.#shift(1);
    }
    this.#shift(graphemes(this.#lineAfter()).slice(0, column).join("").length);
  }

  /** Cuts the text between the cursor and the edge of its line, or of the word before it. */
  cutTo(edge: "start" | "end" | "word"): void {
    if (edge === "end") {
      const cut = this.#lineAfter() || this.#after.slice(0, 1);
      this.#cut = cut;
      this.#after = this.#after.slice(cut.length);
      return;
    }
    const cut =
      edge === "start" ? this.#lineBefore() || this.#before.slice(-1) : (wordBefore.exec(this.#before)?.[0] ?? "");
    this.#cut = cut;
    this.#before = this.#before.slice(0, this.#before.length - cut.length);
  }

  putBack(): void {
    this.insert(this.#cut);
  }

  #lineBefore(): string {
    return this.#before.slice(this.#before.lastIndexOf("\n") + 1);
  }

  #lineAfter(): string {
    const end = this.#after.indexOf("\n");
    return end < 0 ? this.#after : this.#after.slice(0, end);
  }

  #shift(by: number): void {
    const { text } = this;
    const at = Math.min(text.length, Math.max(0, this.#before.length + by));
    this.#before = text.slice(0, at);
    this.#after = text.slice(at);
  }
}

/** Looks at the end of the text only, so that a long text is not split into graphemes for its last one. */
function lastOf(text: string): string {
  return graphemes(text.slice(-100)).at(-1) ?? "";
}

function firstOf(text: string): string {
  return graphemes(text.slice(0, 100))[0] ?? "";
}

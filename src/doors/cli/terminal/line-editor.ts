/** The text that is being typed: several lines, with a cursor between characters. It knows no terminal. */
import { graphemes } from "./cells.ts";

const wordBefore = /[\p{L}\p{N}_]+[^\p{L}\p{N}_]*$|[^\p{L}\p{N}_]+$/u;
const wordAfter = /^[^\p{L}\p{N}_]*[\p{L}\p{N}_]+|^[^\p{L}\p{N}_]+/u;

export class LineEditor {
  #before = "";
  #after = "";
  /** What was cut last, to be put back. */
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
  /** Whether there is no line above the cursor's, or none beneath it. */
  get isOnFirstLine(): boolean {
    return !this.#before.includes("\n");
  }
  get isOnLastLine(): boolean {
    return !this.#after.includes("\n");
  }

  /** With the cursor at the end. */
  set(text: string): void {
    this.#before = text;
    this.#after = "";
  }

  /** Empties it and gives what it held. */
  take(): string {
    const { text } = this;
    this.set("");
    return text;
  }

  insert(text: string): void {
    this.#before += text;
  }

  /** Puts text in the place of the last characters before the cursor. */
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

  /** To the beginning or the end of the cursor's line. */
  moveToEdge(edge: "start" | "end"): void {
    this.#shift(edge === "start" ? -this.#lineBefore().length : this.#lineAfter().length);
  }

  /** To the line above or beneath, as far from its beginning; the caller knows that there is one. */
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

  /** Cuts what stands between the cursor and the edge of its line, or of the word before it. */
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

/** A long text is not cut up as a whole for its last character. */
function lastOf(text: string): string {
  return graphemes(text.slice(-100)).at(-1) ?? "";
}

function firstOf(text: string): string {
  return graphemes(text.slice(0, 100))[0] ?? "";
}

/** The lines of a text. They count from 1, end at "\n", and a range includes both ends. */
export class SourceLines {
  readonly text: string;
  readonly count: number;
  /** The position at which each line begins; one more entry is the end. */
  readonly #starts: number[] = [0];

  constructor(text: string) {
    this.text = text;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) this.#starts.push(at + 1);
    this.count = this.#starts.length;
    this.#starts.push(text.length + 1);
  }

  /** Returns exactly these lines, without the line end of the last one. */
  slice(startLine: number, endLine: number): string {
    return this.text.slice(this.#startOf(startLine), this.#startOf(endLine + 1) - 1);
  }

  /** Returns the number of characters of a range, with the line ends inside it. */
  characters(startLine: number, endLine: number): number {
    return this.#startOf(endLine + 1) - 1 - this.#startOf(startLine);
  }

  isBlank(line: number): boolean {
    return this.slice(line, line).trim() === "";
  }

  /** Returns the number of columns before the first character, or -1 for a blank line. */
  indentation(line: number): number {
    return this.slice(line, line).search(/\S/);
  }

  #startOf(line: number): number {
    const start = this.#starts[line - 1];
    return start ?? this.text.length + 1;
  }
}

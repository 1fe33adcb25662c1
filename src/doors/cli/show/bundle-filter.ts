/**
 * Takes the block of proposed files out of an answer while it streams (X7). A person is shown the differences instead.
 * Text that looks like such a block is held until the block ends; if it is another one, it is given back.
 */
const fence = /^\s*(`{3,}|~{3,})(.*)$/;
const looksLikeBundle = /"files"\s*:\s*\[\s*[{\]]/;

export class BundleFilter {
  #line = "";
  #isFirst = true;
  /** True if the beginning of the current line was shown already. */
  #isBegun = false;
  /** The lines of the open block that may be a bundle, and the fence that ends it. Null if the answer itself is one. */
  #held: { lines: string[]; mark: string | null } | null = null;
  /** The mark of an open block that is no bundle. */
  #other: string | null = null;
  #taken = "";

  /** The blocks that were taken out. */
  get taken(): string {
    return this.#taken;
  }

  /** Takes a piece of the answer, and returns what can be shown of it. */
  push(piece: string): string {
    if (!this.#isBegun) return this.#fromLineStart(piece);
    const end = piece.indexOf("\n") + 1;
    if (end === 0) return piece;
    this.#isBegun = false;
    return piece.slice(0, end) + this.#fromLineStart(piece.slice(end));
  }

  #fromLineStart(piece: string): string {
    const lines = (this.#line + piece).split("\n");
    this.#line = lines.pop() ?? "";
    const shown = lines.map((line) => this.#whole(line)).join("");
    return shown + this.#begun();
  }

  /** Ends a message, and returns what was still held of it. */
  end(): string {
    const rest = this.#line === "" ? "" : this.#whole(this.#line).replace(/\n$/, "");
    this.#line = "";
    const held = this.#held === null ? "" : this.#decide(this.#held.lines.join("\n"));
    this.#held = null;
    this.#other = null;
    this.#isFirst = true;
    this.#isBegun = false;
    return rest + held;
  }

  /** Shows the beginning of a line at once if it can be no fence. */
  #begun(): string {
    if (this.#held !== null || this.#line === "" || /^\s*(?:$|[`~{])/.test(this.#line)) return "";
    const text = this.#line;
    this.#line = "";
    this.#isBegun = true;
    this.#isFirst = false;
    return text;
  }

  #whole(line: string): string {
    const isFirst = this.#isFirst;
    if (line.trim() !== "") this.#isFirst = false;
    const found = fence.exec(line);
    if (this.#held !== null) return this.#inside(this.#held, line, found);
    if (this.#other !== null) {
      if (found !== null && closes(found, this.#other)) this.#other = null;
      return `${line}\n`;
    }
    if (isFirst && line.trimStart().startsWith("{")) this.#held = { lines: [line], mark: null };
    else if (found === null) return `${line}\n`;
    else if (/^\s*(json)?\s*$/i.test(found[2] ?? "")) this.#held = { lines: [line], mark: found[1] ?? "" };
    else {
      this.#other = found[1] ?? "";
      return `${line}\n`;
    }
    return "";
  }

  #inside(held: { lines: string[]; mark: string | null }, line: string, found: RegExpExecArray | null): string {
    held.lines.push(line);
    if (held.mark === null || found === null || !closes(found, held.mark)) return "";
    this.#held = null;
    return this.#decide(`${held.lines.join("\n")}\n`);
  }

  #decide(block: string): string {
    if (!looksLikeBundle.test(block)) return block;
    this.#taken += block;
    return "";
  }
}

function closes(found: RegExpExecArray, opening: string): boolean {
  const marks = found[1] ?? "";
  return marks[0] === opening[0] && marks.length >= opening.length && (found[2] ?? "").trim() === "";
}

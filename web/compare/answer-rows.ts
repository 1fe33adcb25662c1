/**
 * Two answers as rows of blocks, so that each stays a paragraph, a list, a table or code, and the words that differ are marked inside. Pure.
 */
import { diffArrays } from "diff";
import { Lexer, type Token, type Tokens } from "marked";

export interface AnswerRow {
  /** True if both sides have the same block. */
  isSame: boolean;
  /** Null: this side has no such block. */
  left: Token | null;
  right: Token | null;
}

/** A run of words that the other side does not have. The page draws it as a mark around its tokens. */
export interface MarkToken {
  type: "mark";
  raw: string;
  tokens: Token[];
}

/** Less than this share of common words, and two blocks are two different things. */
const similarShare = 0.3;

export function answerRows(left: string, right: string): AnswerRow[] {
  const [a, b] = [blocksOf(left), blocksOf(right)];
  const rows: AnswerRow[] = [];
  let removed: Token[] = [];
  const runs = diffArrays(a, b, { comparator: (one, other) => one.raw.trim() === other.raw.trim() });
  for (const [at, run] of runs.entries()) {
    if (run.removed) {
      removed = run.value;
      if (runs[at + 1]?.added !== true) rows.push(...removed.map(onlyLeft));
    } else if (run.added) {
      rows.push(...pairsOf(runs[at - 1]?.removed === true ? removed : [], run.value));
    } else rows.push(...run.value.map((token) => ({ isSame: true, left: token, right: token })));
  }
  return rows;
}

function blocksOf(text: string): Token[] {
  return Lexer.lex(text).filter(({ type }) => type !== "space");
}

function onlyLeft(left: Token): AnswerRow {
  return { isSame: false, left, right: null };
}

/** Blocks of one change stand beside one another in their order. */
function pairsOf(left: readonly Token[], right: readonly Token[]): AnswerRow[] {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, at) => {
    const [a, b] = [left[at] ?? null, right[at] ?? null];
    if (a === null || b === null || a.type !== b.type) return { isSame: false, left: a, right: b };
    return { isSame: false, ...markedPair(a, b) };
  });
}

function markedPair(a: Token, b: Token): Pick<AnswerRow, "left" | "right"> {
  const [ofA, ofB] = [wordsOf(a), wordsOf(b)];
  const runs = diffArrays(ofA, ofB);
  const common = runs.reduce((sum, { added, removed, value }) => (added || removed ? sum : sum + value.length), 0);
  if (common < similarShare * Math.max(ofA.length, ofB.length)) return { left: a, right: b };
  const flags = (skipped: "added" | "removed"): boolean[] =>
    runs.filter((run) => !run[skipped]).flatMap(({ added, removed, value }) => value.map(() => added || removed));
  return { left: marked(a, flags("added")), right: marked(b, flags("removed")) };
}

/** The words of code are its lines. */
function wordsOf(token: Token): string[] {
  if (token.type === "code") return (token as Tokens.Code).text.split("\n");
  const words: string[] = [];
  changeLeaves(token, (leaf) => {
    words.push(...split(textOf(leaf)));
    return [leaf];
  });
  return words;
}

function split(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

function textOf(leaf: Token): string {
  return "text" in leaf && typeof leaf.text === "string" ? leaf.text : leaf.raw;
}

/** Returns the block with its flagged words, or lines of code, in marks. */
function marked(token: Token, flags: readonly boolean[]): Token {
  if (token.type === "code") return { ...token, flags };
  let at = 0;
  return changeLeaves(token, (leaf) => {
    const words = split(textOf(leaf));
    const own = flags.slice(at, (at += words.length));
    if (!own.includes(true)) return [leaf];
    // Code in a line is marked as a whole.
    if (leaf.type !== "text") return [markOf(leaf)];
    return runsOf(words, own).map(({ text, isMarked }) => {
      const part = { type: "text", raw: text, text } as Tokens.Text;
      return isMarked ? markOf(part) : part;
    });
  });
}

function markOf(token: Token): Token {
  const mark: MarkToken = { type: "mark", raw: token.raw, tokens: [token] };
  return mark as Token;
}

function runsOf(words: readonly string[], flags: readonly boolean[]): { text: string; isMarked: boolean }[] {
  const runs: { text: string; isMarked: boolean }[] = [];
  for (const [at, word] of words.entries()) {
    const isMarked = flags[at] === true;
    const last = runs.at(-1);
    if (last?.isMarked === isMarked) last.text += word;
    else runs.push({ text: word, isMarked });
  }
  return runs;
}

/** Returns the token with each of its innermost tokens replaced. */
function changeLeaves<T extends Token>(token: T, change: (leaf: Token) => Token[]): T {
  const all = (tokens: readonly Token[]): Token[] =>
    tokens.flatMap((one) => (isLeaf(one) ? change(one) : [changeLeaves(one, change)]));
  if (token.type === "table") {
    const { header, rows } = token as Tokens.Table;
    const cell = (one: Tokens.TableCell): Tokens.TableCell => ({ ...one, tokens: all(one.tokens) });
    return { ...token, header: header.map(cell), rows: rows.map((row) => row.map(cell)) };
  }
  if (token.type === "list") {
    const { items } = token as Tokens.List;
    return { ...token, items: items.map((item) => ({ ...item, tokens: all(item.tokens) })) };
  }
  return "tokens" in token && token.tokens !== undefined ? { ...token, tokens: all(token.tokens) } : token;
}

function isLeaf(token: Token): boolean {
  return token.type !== "table" && token.type !== "list" && !("tokens" in token && token.tokens !== undefined);
}

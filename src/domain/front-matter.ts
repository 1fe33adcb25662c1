/**
 * Reads the front matter of a Markdown file: the texts at the top level of its YAML. Authors write it by hand for many
 * programs, so a value with a colon in it is read although strict YAML refuses it. A list or a table is no text and is
 * left out.
 */

/** Returns the texts by key, or null if the file does not begin with front matter. A key that is there twice has its first text. */
export function frontMatterOf(text: string): Map<string, string> | null {
  const lines = text.split("\n");
  if (lines[0]?.trimEnd() !== "---") return null;
  const end = lines.findIndex((line, at) => at > 0 && /^(?:---|\.\.\.)\s*$/.test(line));
  if (end === -1) return null;
  const found = new Map<string, string>();
  for (const { key, first, more } of entriesOf(lines.slice(1, end))) {
    const value = textOf(first, more);
    if (value !== null && !found.has(key)) found.set(key, value);
  }
  return found;
}

interface Entry {
  key: string;
  /** What follows the colon. */
  first: string;
  /** The lines below that belong to it. */
  more: string[];
}

function entriesOf(lines: readonly string[]): Entry[] {
  const entries: Entry[] = [];
  for (const line of lines) {
    const [, key, first = ""] = /^([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?$/.exec(line.trimEnd()) ?? [];
    if (key !== undefined) entries.push({ key, first: first.trim(), more: [] });
    else if (line.trim() === "" || /^[ \t]/.test(line)) entries.at(-1)?.more.push(line);
  }
  return entries;
}

/** Returns a value that is text, or null for another one. */
function textOf(first: string, more: readonly string[]): string | null {
  const [, style, modifier = ""] = /^([|>])([-+1-9]{0,2})(?:\s+#.*)?$/.exec(first) ?? [];
  if (style !== undefined) return blockText(more, { isFolded: style === ">", keepsEnd: modifier.includes("+") });
  const all = [first, ...more.map((line) => line.trim())].join("\n");
  if (/^["']/.test(first)) return quotedText(all);
  if (/^[[{&*!]/.test(first)) return null;
  // Nothing behind the colon: what follows is a list or a table, unless it reads like words.
  if (first === "" && more.some((line) => /^\s*(?:-\s|[\w-]+:(?:\s|$))/.test(line))) return null;
  return folded(all.replace(/(^|[ \t])#.*$/gm, "")).trim();
}

function blockText(lines: readonly string[], { isFolded, keepsEnd }: { isFolded: boolean; keepsEnd: boolean }): string {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length);
  const indent = Math.min(...indents, Infinity);
  const text = lines.map((line) => line.slice(indent === Infinity ? 0 : indent)).join("\n");
  const joined = isFolded ? folded(text) : text;
  return keepsEnd ? joined : joined.trimEnd();
}

/** Joins the lines of a paragraph. An empty line is a line break. */
function folded(text: string): string {
  const paragraphs: string[][] = [[]];
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line === "") paragraphs.push([]);
    else paragraphs.at(-1)?.push(line);
  }
  return paragraphs.map((lines) => lines.join(" ")).join("\n");
}

function quotedText(all: string): string {
  const quote = all[0];
  const text = folded(all).trim();
  if (quote === "'") {
    const inner = /^'((?:[^']|'')*)'/.exec(text)?.[1];
    return inner === undefined ? text : inner.replaceAll("''", "'");
  }
  const inner = /^"((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
  return inner === undefined ? text : unescaped(inner);
}

const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r", "0": "\u0000", "/": "/" };

function unescaped(text: string): string {
  return text.replace(/\\(?:x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|.)/g, (escape) => {
    const name = escape.slice(1);
    if (name.length > 1) return String.fromCharCode(Number.parseInt(name.slice(1), 16));
    return escapes[name] ?? name;
  });
}

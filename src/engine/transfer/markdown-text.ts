/** Writes any text into a page of Markdown, so that the text neither ends its block early nor changes what follows. */

/** Returns a block that shows the text as it is. Its fence is longer than any run of backticks in the text. */
export function fencedText(text: string, language: string): string {
  const fence = "`".repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${language}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

/** Returns code within a line. */
export function code(text: string): string {
  const line = text.replace(/[\r\n]+/g, " ");
  const fence = "`".repeat(longestRun(line) + 1);
  // CommonMark removes one space from each side.
  const space = /^[` ]|[` ]$/.test(line) || line === "" ? " " : "";
  return `${fence}${space}${line}${space}${fence}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
}

/** Returns words within a line, with everything escaped that Markdown or HTML would interpret. */
export function inline(text: string): string {
  return text
    .replace(/[\r\n]+/g, " ")
    .trim()
    .replace(/[\\`*_[\]#|~&<>]/g, (character) =>
      character === "&" ? "&amp;" : character === "<" ? "&lt;" : character === ">" ? "&gt;" : `\\${character}`,
    );
}

/** Returns blocks that are folded under a summary. */
export function details(summary: string, blocks: readonly string[]): string {
  const plain = summary.replace(/[\r\n]+/g, " ").replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`);
  return [`<details><summary>${plain}</summary>`, ...blocks, "</details>"].join("\n\n");
}

/**
 * Returns the Markdown of another author as it is if it closes everything that it opens, else as a block that shows its
 * source.
 */
export function prose(text: string): string {
  return endsByItself(text) ? text.replace(/^[\r\n]+|\s+$/g, "") : fencedText(text, "markdown");
}

/**
 * Returns true if nothing is left open at the end: no fence, and no HTML outside of code. If that is uncertain, it
 * returns false.
 */
function endsByItself(text: string): boolean {
  let open: string | null = null;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const fence = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    const [, marks = "", rest = ""] = fence ?? [];
    if (open === null) {
      if (fence !== null && !(marks.startsWith("`") && rest.includes("`"))) open = marks;
      else if (hasHtml(line)) return false;
    } else if (fence !== null && rest.trim() === "" && marks.startsWith(open)) open = null;
  }
  return open === null;
}

function hasHtml(line: string): boolean {
  // An escaped backtick starts no code, so then nothing counts as code.
  const outside = line.includes("\\`") ? line : line.replace(/(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g, "");
  return /<[!?/a-z]/i.test(outside);
}

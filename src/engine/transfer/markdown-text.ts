/** Any text inside a page of Markdown, so that it neither ends early nor swallows what comes after it. */

/** A block that shows the text as it is. Its fence is longer than any run of backticks in the text. */
export function fencedText(text: string, language: string): string {
  const fence = "`".repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${language}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

/** Code in a line. */
export function code(text: string): string {
  const line = text.replace(/[\r\n]+/g, " ");
  const fence = "`".repeat(longestRun(line) + 1);
  // CommonMark takes one space off each side again.
  const space = /^[` ]|[` ]$/.test(line) || line === "" ? " " : "";
  return `${fence}${space}${line}${space}${fence}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
}

/** Words in a line, with nothing in them that Markdown or HTML would take for its own. */
export function inline(text: string): string {
  return text
    .replace(/[\r\n]+/g, " ")
    .trim()
    .replace(/[\\`*_[\]#|~&<>]/g, (character) =>
      character === "&" ? "&amp;" : character === "<" ? "&lt;" : character === ">" ? "&gt;" : `\\${character}`,
    );
}

/** Something that is folded until it is wanted. */
export function details(summary: string, blocks: readonly string[]): string {
  const plain = summary.replace(/[\r\n]+/g, " ").replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`);
  return [`<details><summary>${plain}</summary>`, ...blocks, "</details>"].join("\n\n");
}

/** Markdown that somebody else wrote, as it is where it ends by itself; else it is shown as a block. */
export function prose(text: string): string {
  return endsByItself(text) ? text.replace(/^[\r\n]+|\s+$/g, "") : fencedText(text, "markdown");
}

/**
 * Whether nothing is left open at the end: no fence, and no HTML at all outside of code. Where that is not sure it
 * says no.
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
  // An escaped backtick begins no code, so then nothing is taken for code.
  const outside = line.includes("\\`") ? line : line.replace(/(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g, "");
  return /<[!?/a-z]/i.test(outside);
}

/** Sections of texts without a grammar: Markdown by its headings, all other texts by blank lines. */
import type { SourceSection } from "./section.ts";
import type { SourceLines } from "./source-lines.ts";

/** Returns the runs of lines that are not blank, within a section and with its symbol. */
export function paragraphs(lines: SourceLines, { startLine, endLine, symbol }: SourceSection): SourceSection[] {
  const sections: SourceSection[] = [];
  let start: number | null = null;
  for (let line = startLine; line <= endLine + 1; line += 1) {
    const isOutside = line > endLine || lines.isBlank(line);
    if (isOutside && start !== null) sections.push({ startLine: start, endLine: line - 1, symbol });
    if (isOutside) start = null;
    else start ??= line;
  }
  return sections;
}

/** Returns one section per heading, named by the headings above it: `Guide > Install`. Headings in code fences are ignored. */
export function markdownSections(lines: SourceLines): SourceSection[] {
  const starts: { line: number; symbol: string | null }[] = [{ line: 1, symbol: null }];
  const titles: string[] = [];
  let fence: string | null = null;
  for (let line = 1; line <= lines.count; line += 1) {
    const text = lines.slice(line, line);
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(text)?.[1];
    if (mark !== undefined && (fence === null || closes(fence, mark))) fence = fence === null ? mark : null;
    const heading = fence === null ? /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*\r?$/.exec(text) : null;
    if (heading === null) continue;
    const level = heading[1]?.length ?? 1;
    titles.length = Math.min(titles.length, level - 1);
    titles[level - 1] = heading[2] ?? "";
    starts.push({ line, symbol: titles.filter((title) => title).join(" > ") || null });
  }
  return starts
    .map(({ line, symbol }, at) => {
      const endLine = (starts[at + 1]?.line ?? lines.count + 1) - 1;
      const section = { startLine: line, endLine, symbol };
      return { ...section, parts: () => paragraphs(lines, section) };
    })
    .filter((section) => section.startLine <= section.endLine);
}

function closes(fence: string, mark: string): boolean {
  return mark[0] === fence[0] && mark.length >= fence.length;
}

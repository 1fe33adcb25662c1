/** What a tool call shows besides its title, in a few lines: the change of a file, a plan, a text. */
import { structuredPatch } from "diff";
import type { PlanStep, ToolContent } from "../../../domain/tool.ts";
import { visibleText } from "../../../tools/shown-text.ts";
import { chop } from "./cells.ts";
import { neutralize, type OutputStyle } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";

type Change = Extract<ToolContent, { type: "diff" }>;

const linesAround = 2;
/** The time limit for a diff in milliseconds. Beyond it, all of the old and the new text is shown. */
const patchMs = 200;

export function contentLines(
  contents: readonly ToolContent[],
  { style, linesMax, moreHint }: { style: OutputStyle; linesMax: number; moreHint: string },
): string[] {
  const all = contents.flatMap((content) => linesOf(content, style)).map((line) => `  ${line}`);
  const more = all.length - linesMax;
  return more > 0 ? [...all.slice(0, linesMax), style.dim(`  … ${plural(more, "more line")}${moreHint}`)] : all;
}

/**
 * Returns the lines of a question: everything, wrapped to the width, with hidden characters and long runs of blanks made
 * visible. Each line is indented, so that none can look like a line of ours.
 */
export function wholeContentLines(
  contents: readonly ToolContent[],
  { style, width }: { style: OutputStyle; width: number },
): string[] {
  return contents
    .flatMap((content) => {
      if (content.type === "plan" || content.type === "image") return linesOf(content, style);
      const text = content.type === "diff" ? changed(content) : content.text;
      const lines = shown(visibleText(text)).flatMap((line) =>
        wrapped(line, width, { isMarked: content.type === "diff" }),
      );
      return content.type === "diff" ? lines.map((line) => changedLine(line, style)) : lines;
    })
    .map((line) => `  ${line}`);
}

/** Splits a line. The rest of a marked one (`+`, `-`) has the same mark. */
function wrapped(line: string, width: number, { isMarked }: { isMarked: boolean }): string[] {
  if (!isMarked) return chop(line, width);
  return chop(line.slice(1), width - 1).map((piece) => line.slice(0, 1) + piece);
}

function linesOf(content: ToolContent, style: OutputStyle): string[] {
  switch (content.type) {
    case "text":
      return shown(content.text);
    case "diff":
      return shown(changed(content)).map((line) => changedLine(line, style));
    case "image":
      // The output of the tool names it.
      return [];
    case "plan":
      return content.steps.map((step) => planLine(step, style));
  }
}

function shown(text: string): string[] {
  return neutralize(text).replaceAll("\t", "    ").replace(/\n$/, "").split("\n");
}

function changed({ oldText, newText }: Change): string {
  const before = oldText ?? "";
  const patch = structuredPatch("", "", before, newText, "", "", { context: linesAround, timeout: patchMs });
  const hunks = patch?.hunks.map(({ lines }) => lines.filter((line) => !line.startsWith("\\")));
  if (hunks !== undefined) return hunks.map((lines) => lines.join("\n")).join("\n⋮\n");
  const marked = (text: string, mark: string): string[] =>
    text === "" ? [] : text.split("\n").map((line) => mark + line);
  return [...marked(before, "-"), ...marked(newText, "+")].join("\n");
}

function changedLine(line: string, { green, red, dim }: OutputStyle): string {
  if (line.startsWith("+")) return green(line);
  return line.startsWith("-") ? red(line) : dim(line);
}

function planLine({ content, status }: PlanStep, { green, cyan, dim }: OutputStyle): string {
  const words = shown(content).join(" ");
  if (status === "completed") return `${green("✓")} ${dim(words)}`;
  return status === "in_progress" ? `${cyan("›")} ${words}` : `${dim("·")} ${words}`;
}

/** The change of a file in a few coloured lines, bounded. */
import { structuredPatch } from "diff";
import type { ToolContent } from "../../../domain/tool.ts";
import { neutralize, plural } from "../output.ts";
import type { Style } from "../output.ts";

type Change = Extract<ToolContent, { type: "diff" }>;

const linesAround = 2;
/** Where two texts have little in common, to find the smallest difference takes long; then all of the old and the new is shown. */
const patchMs = 200;

export function changeLines(
  { oldText, newText }: Change,
  { style, linesMax }: { style: Style; linesMax: number },
): string[] {
  const all = neutralize(changed(oldText ?? "", newText)).split("\n");
  const shown = all.slice(0, linesMax).map((line) => `  ${paint(line.replaceAll("\t", "    "), style)}`);
  const more = all.length - linesMax;
  return more > 0 ? [...shown, style.dim(`  … ${plural(more, "more line")}; /details shows them`)] : shown;
}

function changed(before: string, after: string): string {
  const patch = structuredPatch("", "", before, after, "", "", { context: linesAround, timeout: patchMs });
  const hunks = patch?.hunks.map(({ lines }) => lines.filter((line) => !line.startsWith("\\")));
  if (hunks !== undefined) return hunks.map((lines) => lines.join("\n")).join("\n⋮\n");
  const marked = (text: string, mark: string): string[] =>
    text === "" ? [] : text.split("\n").map((line) => mark + line);
  return [...marked(before, "-"), ...marked(after, "+")].join("\n");
}

function paint(line: string, { green, red, dim }: Style): string {
  if (line.startsWith("+")) return green(line);
  return line.startsWith("-") ? red(line) : dim(line);
}

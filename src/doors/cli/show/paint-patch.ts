/** Unified diffs, coloured on a terminal. */
import { decodeText } from "../../../domain/active-file.ts";
import type { PlannedChange } from "../../../domain/file-bundle.ts";
import type { CliOutput } from "../output.ts";
import { diffLine } from "../terminal/code-colours.ts";

export async function diffLines(change: PlannedChange, output: CliOutput): Promise<string[]> {
  const { path, before, after } = change;
  const old = before === null ? "" : decodeText(before.content);
  if (old === null) return [`${path}: a binary file, ${after === null ? "deleted" : "replaced by text"}`];
  const { createTwoFilesPatch } = await import("diff");
  const from = before === null ? "/dev/null" : `a/${path}`;
  const to = after === null ? "/dev/null" : `b/${path}`;
  const patch = createTwoFilesPatch(from, to, old, after ?? "", undefined, undefined, { context: 3 });
  return paintPatch(patch, output);
}

/** Colours the lines of a unified diff. */
export function paintPatch(patch: string, output: CliOutput): string[] {
  const lines = patch.split("\n").filter((line) => !line.startsWith("=====") && line !== "");
  return lines.map((line) => diffLine(output.safe(line), output.style));
}

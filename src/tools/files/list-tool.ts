/** `list`: shows the content of a folder as a tree of bounded size, or the files that match a glob. */
import { limits } from "../../domain/limits.ts";
import { describedTool } from "../described-tool.ts";
import { textArgument, toolParameters, wholeArgument } from "../parameters.ts";
import { shownBelow, shownPath } from "../shown-text.ts";
import type { Tool } from "../tool.ts";
import { ToolFault } from "../tool-fault.ts";
import type { FileToolsSession } from "./files-session.ts";
import { globFilter } from "./glob.ts";
import { listFiles } from "./listing.ts";
import { fileTreeText } from "./tree.ts";

const parameters = toolParameters(() => ({
  path: textArgument("Folder; the first one if absent.").optional(),
  glob: textArgument("Only files that match, as flat paths: *.ts, src/**/*.{js,ts}.").optional(),
  depth: wholeArgument("Levels of the tree to open.", { min: 1, max: 100 }).optional(),
}));

const about =
  "List a folder as a tree, as deep as fits, or the files that match a glob. Files that git ignores are left out, " +
  "unless the path names one of them.";

export function listTool({ folders }: FileToolsSession): Tool {
  return describedTool({
    name: "list",
    about,
    effect: "read",
    parameters,
    view: async ({ path = ".", glob }) => {
      const target = await folders.resolve(path);
      const what = glob === undefined ? "" : `${shownPath(glob)} in `;
      const locations = [{ path: target.known }];
      return { title: `List ${what}${target.shown}`, kind: "search", locations, content: [], permission: null };
    },
    run: async ({ path = ".", glob, depth = 100 }, { signal }) => {
      const target = await folders.resolveExisting(path);
      if (target.kind === "file") throw new ToolFault(`${target.shown} is a file; use "read"`);
      const matches = glob === undefined ? null : globFilter(glob);
      const { paths, isCut } = await listFiles(target.real, signal, { isOpen: await folders.openBelow(target) });
      const cut = isCut ? [`(only ${paths.length} files were checked; name a folder further down)`] : [];
      const lines =
        matches === null ? treeLines(target.shown, paths, depth) : flatLines(target.shown, paths.filter(matches));
      return { output: [...lines, ...cut].join("\n"), isError: false };
    },
  });
}

function treeLines(shown: string, paths: readonly string[], depth: number): string[] {
  const top = shown.endsWith(":") ? shown : `${shown}/`;
  if (paths.length === 0) return [`${top} is empty`];
  const { lines, hasClosed } = fileTreeText(paths, { entriesMax: limits.listedEntriesMax, depthMax: depth });
  const closed = hasClosed ? ["(folders with a count are not opened here; list them by their path)"] : [];
  return [`${top} (${counted(paths.length)})`, ...lines, ...closed];
}

function flatLines(shown: string, paths: readonly string[]): string[] {
  if (paths.length === 0) return [`no file in ${shown}/ matches`];
  const max = limits.listedEntriesMax;
  const more = paths.length > max ? [`(… and ${paths.length - max} more; narrow the glob)`] : [];
  const lines = paths.slice(0, max).map((path) => shownPath(shownBelow(shown, path)));
  return [...lines, ...more];
}

function counted(files: number): string {
  return files === 1 ? "1 file" : `${files} files`;
}

/** `list`: what is in a folder, as a tree that fits, or the files that a pattern names. */
import { join } from "node:path";
import { limits } from "../../domain/limits.ts";
import { describedTool } from "../described-tool.ts";
import { textArgument, toolParameters, wholeArgument } from "../parameters.ts";
import { shownPath } from "../shown-text.ts";
import type { Tool } from "../tool.ts";
import { ToolFault } from "../tool-fault.ts";
import type { FilesSession } from "./files-session.ts";
import { globFilter } from "./glob.ts";
import { listFiles } from "./listing.ts";
import { treeOf } from "./tree.ts";

const parameters = toolParameters(() => ({
  path: textArgument("Folder; the first one if absent.").optional(),
  glob: textArgument("Only files like this, as flat paths: *.ts, src/**/*.{js,ts}.").optional(),
  depth: wholeArgument("Levels of the tree to open.", { min: 1, max: 100 }).optional(),
}));

const about =
  "List a folder as a tree, as deep as fits, or the files that fit a glob. Files that git ignores are left out, " +
  "unless the folder named is one of them.";

export function listTool({ folders }: FilesSession): Tool {
  return describedTool({
    name: "list",
    about,
    effect: "read",
    parameters,
    view: async ({ path = ".", glob }) => {
      const place = await folders.place(path);
      const what = glob === undefined ? "" : `${shownPath(glob)} in `;
      const locations = [{ path: place.known }];
      return { title: `List ${what}${place.shown}`, kind: "search", locations, content: [], permission: null };
    },
    run: async ({ path = ".", glob, depth = 100 }, { signal }) => {
      const place = await folders.existing(path);
      if (place.kind === "file") throw new ToolFault(`${place.shown} is a file; use "read"`);
      const fits = glob === undefined ? null : globFilter(glob);
      const { paths, isCut } = await listFiles(place.real, signal, { isOpen: await folders.openBelow(place) });
      const cut = isCut ? [`(only ${paths.length} files were looked at; name a folder further down)`] : [];
      const lines = fits === null ? treeLines(place.shown, paths, depth) : flatLines(place.shown, paths.filter(fits));
      return { output: [...lines, ...cut].join("\n"), isError: false };
    },
  });
}

function treeLines(shown: string, paths: readonly string[], depth: number): string[] {
  if (paths.length === 0) return [`${shown}/ is empty`];
  const { lines, hasClosed } = treeOf(paths, { entriesMax: limits.listedEntriesMax, depthMax: depth });
  const closed = hasClosed ? ["(folders with a count are not opened here; list them by their path)"] : [];
  return [`${shown}/ (${counted(paths.length)})`, ...lines, ...closed];
}

function flatLines(shown: string, paths: readonly string[]): string[] {
  if (paths.length === 0) return [`no file in ${shown}/ fits`];
  const max = limits.listedEntriesMax;
  const more = paths.length > max ? [`(… and ${paths.length - max} more; narrow the glob)`] : [];
  const lines = paths.slice(0, max).map((path) => shownPath(shown === "." ? path : join(shown, path)));
  return [...lines, ...more];
}

function counted(files: number): string {
  return files === 1 ? "1 file" : `${files} files`;
}

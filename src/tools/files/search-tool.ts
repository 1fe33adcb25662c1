/** `search`: finds the lines of text files that match a regular expression or a literal text. */
import { basename, dirname } from "node:path";
import * as z from "zod";
import { limits } from "../../domain/limits.ts";
import { describedTool } from "../described-tool.ts";
import { textArgument, toolParameters, wholeArgument } from "../parameters.ts";
import { shownBelow, shownPath } from "../shown-text.ts";
import type { Tool } from "../tool.ts";
import type { FileToolsSession } from "./files-session.ts";
import { globFilter } from "./glob.ts";
import { listFiles } from "./listing.ts";
import { runSearch, type SearchOutcome } from "./search-run.ts";

const parameters = toolParameters(() => ({
  pattern: textArgument("JavaScript regular expression, tried on each line."),
  path: textArgument("Folder or file; the first folder if absent.").optional(),
  glob: textArgument("Only files that match: *.ts, src/**/*.{js,ts}.").optional(),
  literal: z.boolean().describe("Take the pattern as plain text.").optional(),
  ignore_case: z.boolean().describe("Ignore upper and lower case.").optional(),
  context: wholeArgument("Lines to show around each match.", { min: 0, max: limits.searchContextLinesMax }).optional(),
}));

const about =
  "Search the lines of text files. Each file gives path:, then line:text for each match. Files that git ignores are left out, " +
  "unless the path names one of them.";

export function searchTool({ folders }: FileToolsSession): Tool {
  return describedTool({
    name: "search",
    about,
    effect: "read",
    parameters,
    view: async ({ pattern, path = "." }) => {
      const target = await folders.resolve(path);
      const title = `Search ${JSON.stringify(pattern.slice(0, 80))} in ${target.shown}`;
      return { title, kind: "search", locations: [{ path: target.known }], content: [], permission: null };
    },
    run: async ({ pattern, path = ".", glob, literal = false, ignore_case = false, context = 0 }, { signal }) => {
      const target = await folders.resolveExisting(path);
      const matches = glob === undefined ? null : globFilter(glob);
      const isFile = target.kind === "file";
      const listing = isFile
        ? Promise.resolve({ paths: [basename(target.real)], isCut: false })
        : folders.openBelow(target).then((isOpen) => listFiles(target.real, signal, { isOpen }));
      const request = listing.then(({ paths }) => ({
        folder: isFile ? dirname(target.real) : target.real,
        paths: matches === null ? paths : paths.filter(matches),
        pattern,
        isLiteral: literal,
        ignoreCase: ignore_case,
        contextLines: context,
      }));
      const outcome = await runSearch(request, { signal });
      const { isCut } = await listing;
      const inFolder = (found: string): string => shownBelow(target.shown, found);
      return { output: report(outcome, isCut, isFile ? () => target.shown : inFolder), isError: false };
    },
  });
}

function report(outcome: SearchOutcome, isListingCut: boolean, pathOf: (path: string) => string): string {
  const blocks = outcome.files.map(({ path, lines }) => [`${shownPath(pathOf(path))}:`, ...lines].join("\n"));
  return [...blocks, ...notes(outcome, isListingCut).map((note) => `(${note})`)].join("\n");
}

function notes({ matches, filesSearched, tooLarge, isCut, stoppedIn }: SearchOutcome, isListingCut: boolean): string[] {
  const found: string[] = [];
  if (stoppedIn !== null) {
    const time = `stopped after ${limits.searchMs / 1_000} s, in ${shownPath(stoppedIn)}`;
    found.push(`${time}: use a simpler pattern, or search fewer files`);
  } else if (isCut) {
    found.push(`there are more matches than these ${matches}: narrow the pattern, the path or the glob`);
  } else if (matches === 0) {
    found.push(`no match in ${filesSearched === 1 ? "1 file" : `${filesSearched} files`}`);
  }
  if (tooLarge > 0) found.push(`files over ${limits.searchedFileBytesMax / 1_048_576} MiB left out: ${tooLarge}`);
  if (isListingCut) found.push(`only the first ${limits.listedFilesMax} files were searched; name a folder`);
  return found;
}

/** `search`: the lines of text files that fit a regular expression or a literal text. */
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { limits } from "../../domain/limits.ts";
import { describedTool } from "../described-tool.ts";
import { textArgument, toolParameters, wholeArgument } from "../parameters.ts";
import { shownPath } from "../shown-text.ts";
import type { Tool } from "../tool.ts";
import type { FilesSession } from "./files-session.ts";
import { globFilter } from "./glob.ts";
import { listFiles } from "./listing.ts";
import { runSearch, type SearchOutcome } from "./search-run.ts";

const parameters = toolParameters(() => ({
  pattern: textArgument("JavaScript regular expression, tried on each line."),
  path: textArgument("Folder or file; the first folder if absent.").optional(),
  glob: textArgument("Only files like this: *.ts, src/**/*.{js,ts}.").optional(),
  literal: z.boolean().describe("Take the pattern as plain text.").optional(),
  ignore_case: z.boolean().describe("Ignore upper and lower case.").optional(),
  context: wholeArgument("Lines to show around each match.", { min: 0, max: limits.searchContextLinesMax }).optional(),
}));

const about =
  "Search the lines of text files. Gives path:, then line:text for each match. Files that git ignores are left out, " +
  "unless the path named is one of them.";

export function searchTool({ folders }: FilesSession): Tool {
  return describedTool({
    name: "search",
    about,
    effect: "read",
    parameters,
    view: async ({ pattern, path = "." }) => {
      const place = await folders.place(path);
      const title = `Search ${JSON.stringify(pattern.slice(0, 80))} in ${place.shown}`;
      return { title, kind: "search", locations: [{ path: place.known }], content: [], permission: null };
    },
    run: async ({ pattern, path = ".", glob, literal = false, ignore_case = false, context = 0 }, { signal }) => {
      const place = await folders.existing(path);
      const fits = glob === undefined ? null : globFilter(glob);
      const isFile = place.kind === "file";
      const listing = isFile
        ? Promise.resolve({ paths: [basename(place.real)], isCut: false })
        : folders.openBelow(place).then((isOpen) => listFiles(place.real, signal, { isOpen }));
      const question = listing.then(({ paths }) => ({
        folder: isFile ? dirname(place.real) : place.real,
        paths: fits === null ? paths : paths.filter(fits),
        pattern,
        isLiteral: literal,
        ignoreCase: ignore_case,
        contextLines: context,
      }));
      const outcome = await runSearch(question, { signal });
      const { isCut } = await listing;
      const inFolder = (found: string): string => (place.shown === "." ? found : join(place.shown, found));
      return { output: report(outcome, isCut, isFile ? () => place.shown : inFolder), isError: false };
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
  if (isListingCut) found.push(`only the first ${limits.listedFilesMax} files were looked at; name a folder`);
  return found;
}

/** `edit`: one part of a file for another, by its exact text. */
import { z } from "zod";
import { sha256 } from "../../domain/ids.ts";
import { describedTool } from "../described-tool.ts";
import { contentArgument, textArgument, toolParameters } from "../parameters.ts";
import type { Place } from "../session-folders.ts";
import type { Tool } from "../tool.ts";
import { ToolFault } from "../tool-fault.ts";
import { changeView, shownChange } from "./change.ts";
import { mustBeWritable, mustFit, type FilesSession } from "./files-session.ts";
import { replaced, type Replaced, type Replacement } from "./replacement.ts";
import type { TextFile } from "./text-files.ts";

const parameters = toolParameters(() => ({
  path: textArgument("File, relative to the first folder or absolute."),
  find: textArgument("Exact text in the file, with its white space; it must be there once."),
  replace: contentArgument("What stands there instead."),
  all: z.boolean().describe("Replace every occurrence.").optional(),
}));

const about = "Replace an exact part of a text file. Line endings are kept as the file has them.";

export function editTool(session: FilesSession): Tool {
  return describedTool({
    name: "edit",
    about,
    effect: "write",
    parameters,
    view: async ({ path, find, replace, all = false }) => {
      const signal = AbortSignal.timeout(5_000);
      const { place, before, result } = await planned(session, { path, replacement: { find, replace, all }, signal });
      return changeView({ verb: "Edit", place, before: before.text, after: result.text });
    },
    run: async ({ path, find, replace, all = false }, { signal }) => {
      const replacement = { find, replace, all };
      const { place, before, result } = await planned(session, { path, replacement, signal });
      await session.texts.write(place, { text: result.text, before, signal });
      session.seen.note(place, sha256(result.text));
      const { content } = shownChange({ path: place.known, before: before.text, after: result.text });
      return { output: `edited ${place.shown}: ${placesText(result)}`, isError: false, content };
    },
  });
}

function placesText({ lines }: Replaced): string {
  if (lines.length === 1) return `1 place, at line ${lines[0]}`;
  return `${lines.length} places, the first at line ${lines[0]}`;
}

interface Planned {
  place: Place;
  before: TextFile;
  result: Replaced;
}

/** A file that changed since it was read may be edited all the same: what is replaced must be there word for word. */
async function planned(
  { folders, texts, seen }: FilesSession,
  { path, replacement, signal }: { path: string; replacement: Replacement; signal: AbortSignal },
): Promise<Planned> {
  const place = await folders.existing(path);
  mustBeWritable(place);
  if (replacement.find === replacement.replace) throw new ToolFault("find and replace are the same text");
  if (replacement.replace.includes("\0")) throw new ToolFault("the replacement has a NUL, so it is not text");
  const before = await texts.read(place, signal);
  if (!before.isExact) throw new ToolFault(`${place.shown} is not UTF-8, so it cannot be edited without damage`);
  try {
    const result = replaced(before.text, replacement);
    mustFit(result.text);
    return { place, before, result };
  } catch (error) {
    if (!(error instanceof ToolFault) || !seen.isStale(place, before)) throw error;
    throw new ToolFault(`${error.message}\nThe file changed since it was read; read it again`);
  }
}

/** `write`: a whole file, new or in place of what the model read. */
import { sha256 } from "../../domain/ids.ts";
import { describedTool } from "../described-tool.ts";
import { contentArgument, textArgument, toolParameters } from "../parameters.ts";
import type { Place } from "../session-folders.ts";
import type { Tool } from "../tool.ts";
import { ToolFault } from "../tool-fault.ts";
import { changeView, linesText, shownChange } from "./change.ts";
import { mustBeWritable, mustFit, type FilesSession } from "./files-session.ts";
import { asCrLf, isCrLf } from "./replacement.ts";
import type { TextFile } from "./text-files.ts";

const parameters = toolParameters(() => ({
  path: textArgument("File, relative to the first folder or absolute."),
  content: contentArgument("The whole content."),
}));

const about =
  "Write a whole file, with the folders that it needs. A file that is there must have been read before; " +
  "prefer `edit` for changing a part of it.";

export function writeTool(session: FilesSession): Tool {
  return describedTool({
    name: "write",
    about,
    effect: "write",
    parameters,
    view: async ({ path, content }) => {
      const { place, before, after } = await planned(session, { path, content, signal: AbortSignal.timeout(5_000) });
      return changeView({ verb: before === null ? "Create" : "Write", place, before: before?.text ?? null, after });
    },
    run: async ({ path, content }, { signal }) => {
      const { place, before, after } = await planned(session, { path, content, signal });
      if (before !== null && before.text === after) {
        session.seen.note(place, before.sha256);
        return { output: `${place.shown} has this content already`, isError: false };
      }
      if (before !== null) session.seen.check(place, before);
      await session.texts.write(place, { text: after, before, signal });
      session.seen.note(place, sha256(after));
      const { content: shown } = shownChange({ path: place.known, before: before?.text ?? null, after });
      const done = `${before === null ? "created" : "wrote"} ${place.shown} (${linesText(after)})`;
      return { output: done, isError: false, content: shown };
    },
  });
}

interface Planned {
  place: Place;
  before: TextFile | null;
  after: string;
}

async function planned(
  { folders, texts }: FilesSession,
  { path, content, signal }: { path: string; content: string; signal: AbortSignal },
): Promise<Planned> {
  const place = await folders.place(path);
  mustBeWritable(place);
  if (content.includes("\0")) throw new ToolFault("the content has a NUL, so it is not text");
  mustFit(content);
  const before = place.kind === null ? null : await texts.read(place, signal);
  return { place, before, after: before === null ? content : inFormOf(before.text, content) };
}

/** Models write line feeds and no byte order mark; a file that has others keeps them. */
function inFormOf(before: string, content: string): string {
  const ended = isCrLf(before) && !content.includes("\r\n") ? asCrLf(content) : content;
  return before.startsWith("\ufeff") && !ended.startsWith("\ufeff") ? `\ufeff${ended}` : ended;
}

/** `write`: writes a whole file, new or in place of a version that the model has read. */
import { sha256 } from "../../domain/ids.ts";
import { describedTool } from "../described-tool.ts";
import { contentArgument, textArgument, toolParameters } from "../parameters.ts";
import type { SessionPath } from "../session-folders.ts";
import type { Tool } from "../tool.ts";
import { ToolFault } from "../tool-fault.ts";
import { changeView, linesText, shownChange } from "./file-change.ts";
import { checkNamesFile, checkSize, checkWritable, type FileToolsSession } from "./files-session.ts";
import { inFormOf } from "./replacement.ts";
import type { TextFile } from "./text-files.ts";

const parameters = toolParameters(() => ({
  path: textArgument("File, relative to the first folder or absolute."),
  content: contentArgument("The whole content."),
}));

const about =
  "Write a whole file; missing folders are made. An existing file must have been read before; " +
  "prefer `edit` to change a part of it.";

export function writeTool(session: FileToolsSession): Tool {
  return describedTool({
    name: "write",
    about,
    effect: "write",
    parameters,
    view: async ({ path, content }, call) => {
      const { target, before, after } = await planned(session, { path, content, signal: AbortSignal.timeout(5_000) });
      session.shown.note(call, before);
      return changeView({ verb: before === null ? "Create" : "Write", target, before: before?.text ?? null, after });
    },
    run: async ({ path, content }, { signal }, call) => {
      const { target, before, after } = await planned(session, { path, content, signal });
      if (before !== null && before.text === after) {
        session.seen.note(target, before.sha256);
        return { output: `${target.shown} already has this content`, isError: false };
      }
      if (before !== null) session.seen.check(target, before);
      session.shown.check(call, target, before);
      await session.texts.write(target, { text: after, before, signal });
      session.seen.note(target, sha256(after));
      const { content: shown } = shownChange({ path: target.known, before: before?.text ?? null, after });
      const done = `${before === null ? "created" : "wrote"} ${target.shown} (${linesText(after)})`;
      return { output: done, isError: false, content: shown };
    },
  });
}

interface Planned {
  target: SessionPath;
  before: TextFile | null;
  after: string;
}

async function planned(
  { folders, texts }: FileToolsSession,
  { path, content, signal }: { path: string; content: string; signal: AbortSignal },
): Promise<Planned> {
  const target = await folders.resolve(path);
  checkWritable(target);
  checkNamesFile(path);
  if (content.includes("\0")) throw new ToolFault("the content has a NUL, so it is not text");
  checkSize(content);
  // A new file may be open in the client with text that a person has not saved.
  const before = await texts.readIfPresent(target, signal);
  return { target, before, after: before === null ? content : inFormOf(before.text, content) };
}

/** `edit`: replaces one part of a file, which the call names by its exact text. */
import * as z from "zod";
import { sha256 } from "../../domain/ids.ts";
import { describedTool, type CallIdentity } from "../described-tool.ts";
import { contentArgument, textArgument, toolParameters } from "../parameters.ts";
import type { SessionPath } from "../session-folders.ts";
import type { Tool } from "../tool.ts";
import { ToolFault } from "../tool-fault.ts";
import { changeView, shownChange } from "./file-change.ts";
import { checkSize, checkWritable, existingText, type FileToolsSession } from "./files-session.ts";
import { replaceExactText, type ReplacedText, type TextReplacement } from "./replacement.ts";
import type { TextFile } from "./text-files.ts";

const parameters = toolParameters(() => ({
  path: textArgument("File, relative to the first folder or absolute."),
  find: textArgument("Exact text in the file, with its white space; it must occur once."),
  replace: contentArgument("The new text."),
  all: z.boolean().describe("Replace every occurrence.").optional(),
}));

const about = "Replace an exact part of a text file. The file keeps its line endings.";

export function editTool(session: FileToolsSession): Tool {
  return describedTool({
    name: "edit",
    about,
    effect: "write",
    parameters,
    view: async ({ path, find, replace, all = false }, call) => {
      const signal = AbortSignal.timeout(5_000);
      const { target, before, result } = await planned(session, { path, replacement: { find, replace, all }, signal });
      session.shown.note(call, before);
      return changeView({ verb: "Edit", target, before: before.text, after: result.text });
    },
    run: async ({ path, find, replace, all = false }, { signal }, call) => {
      const replacement = { find, replace, all };
      const { target, before, result } = await planned(session, { path, replacement, signal, call });
      await session.texts.write(target, { text: result.text, before, signal });
      session.seen.note(target, sha256(result.text));
      const { content } = shownChange({ path: target.known, before: before.text, after: result.text });
      return { output: `edited ${target.shown}: ${replacementsText(result)}`, isError: false, content };
    },
  });
}

function replacementsText({ lines }: ReplacedText): string {
  if (lines.length === 1) return `1 replacement, at line ${lines[0]}`;
  return `${lines.length} replacements, the first at line ${lines[0]}`;
}

interface Planned {
  target: SessionPath;
  before: TextFile;
  result: ReplacedText;
}

interface EditCall {
  path: string;
  replacement: TextReplacement;
  signal: AbortSignal;
  /** The call if it runs now. It may have been shown before. */
  call?: CallIdentity;
}

/** Plans the edit. A file that changed since the model read it may still be edited, because the text to replace must occur exactly. */
async function planned(session: FileToolsSession, { path, replacement, signal, call }: EditCall): Promise<Planned> {
  if (replacement.find === replacement.replace) throw new ToolFault("find and replace are the same text");
  if (replacement.replace.includes("\0")) throw new ToolFault("the replacement has a NUL, so it is not text");
  const { target, file: before } = await existingText(session, path, { check: checkWritable, signal });
  if (call !== undefined) session.shown.check(call, target, before);
  if (!before.isExact) throw new ToolFault(`${target.shown} is not UTF-8, so it cannot be edited without damage`);
  try {
    const result = replaceExactText(before.text, replacement);
    checkSize(result.text);
    return { target, before, result };
  } catch (error) {
    if (!(error instanceof ToolFault) || !session.seen.isStale(target, before)) throw error;
    throw new ToolFault(`${error.message}\nThe file changed since it was read; read it again`);
  }
}

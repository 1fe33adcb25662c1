/** `read`: returns the lines of a text file, or of the whole output of an earlier call that was cut. */
import { limits } from "../../domain/limits.ts";
import { describedTool } from "../described-tool.ts";
import { textArgument, toolParameters, wholeArgument } from "../parameters.ts";
import type { SessionPath } from "../session-folders.ts";
import { shownPath } from "../shown-text.ts";
import type { Tool, ToolContext } from "../tool.ts";
import { ToolFault } from "../tool-fault.ts";
import { existingText, type FileToolsSession } from "./files-session.ts";

const parameters = toolParameters(() => ({
  path: textArgument("File, relative to the first folder or absolute; or output:<id>."),
  offset: wholeArgument("First line, from 1.", { min: 1 }).optional(),
  limit: wholeArgument(`Lines, at most ${limits.readLinesMax}.`, { min: 1, max: limits.readLinesMax }).optional(),
}));

const about =
  "Read a text file. Each line begins with its number and a tab, which are not part of the file. " +
  "A long file comes in parts; the last line says how to continue. `output:<id>` reads the whole output of a call that was cut.";

export function readTool(session: FileToolsSession): Tool {
  return describedTool({
    name: "read",
    about,
    effect: "read",
    parameters,
    view: async ({ path, offset }) => {
      const from = offset === undefined ? "" : ` from line ${offset}`;
      const target = outputId(path) === null ? await session.folders.resolve(path) : null;
      return {
        title: `Read ${target?.shown ?? shownPath(path)}${from}`,
        kind: "read",
        locations: target === null ? [] : [{ path: target.known, ...(offset !== undefined && { line: offset }) }],
        content: [],
        permission: null,
      };
    },
    run: async ({ path, offset = 1, limit = limits.readLinesMax }, context) => {
      const id = outputId(path);
      const lines = id === null ? await fileLines(session, path, context) : await outputLines(id, context);
      return { output: numbered(lines, { path, offset, limit }), isError: false };
    },
  });
}

function outputId(path: string): string | null {
  return path.startsWith("output:") ? path.slice("output:".length) : null;
}

interface Lines {
  all: string[];
  notes: string[];
}

async function fileLines(session: FileToolsSession, path: string, { signal }: ToolContext): Promise<Lines> {
  const { target, file } = await existingText(session, path, { check: checkReadable, signal });
  session.seen.note(target, file.sha256);
  const lines = file.text.replace(/^\ufeff/, "").split("\n");
  const hasEnd = lines.at(-1) === "";
  if (hasEnd) lines.pop();
  const notes = [
    ...(file.isExact ? [] : ["some bytes are not UTF-8 and are shown as \ufffd; this file cannot be edited"]),
    ...(hasEnd || lines.length === 0 ? [] : ["the last line has no line feed"]),
  ];
  return { all: lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line)), notes };
}

function checkReadable({ kind, shown }: SessionPath): void {
  if (kind === "folder") throw new ToolFault(`${shown} is a folder; use "list"`);
  if (kind === "other") throw new ToolFault(`${shown} is neither a file nor a folder`);
}

/** Returns the lines of an output. Lines that are too long are split, so that every part of the output can be read. */
async function outputLines(id: string, { readOutput }: ToolContext): Promise<Lines> {
  const output = await readOutput(id);
  if (output === null) throw new ToolFault(`no call with the id ${shownPath(id)} has an output that was cut`);
  const max = limits.readLineCharactersMax;
  const all = output.split("\n").flatMap((line) => (line.length <= max ? [line] : brokenLine(line, max)));
  return { all, notes: [] };
}

function brokenLine(line: string, max: number): string[] {
  return Array.from({ length: Math.ceil(line.length / max) }, (_, part) =>
    line.slice(part * max, (part + 1) * max).toWellFormed(),
  );
}

interface Part {
  path: string;
  offset: number;
  limit: number;
}

function numbered({ all, notes }: Lines, { path, offset, limit }: Part): string {
  if (all.length === 0) return "(the file is empty)";
  if (offset > all.length)
    throw new ToolFault(`${shownPath(path)} has ${all.length} lines; there is no line ${offset}`);
  const shown: string[] = [];
  let room: number = limits.readCharactersMax;
  for (let index = offset - 1; index < all.length && shown.length < limit; index++) {
    const line = `${index + 1}\t${bounded(all[index] ?? "")}`;
    room -= line.length + 1;
    if (room < 0 && shown.length > 0) break;
    shown.push(line);
  }
  const last = offset - 1 + shown.length;
  const more =
    last < all.length ? [`lines ${offset} to ${last} of ${all.length}; continue with offset ${last + 1}`] : [];
  const ends = [...more, ...(more.length > 0 ? notes.slice(0, -1) : notes)];
  return [...shown, ...ends.map((note) => `(${note})`)].join("\n");
}

function bounded(line: string): string {
  const max = limits.readLineCharactersMax;
  if (line.length <= max) return line;
  return `${line.slice(0, max).toWellFormed()} [… ${line.length - max} characters more]`;
}

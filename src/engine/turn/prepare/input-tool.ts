/**
 * `read_input`: how a model reads the parts of the input that do not stand in its context (I1). It runs beside the
 * engine, so it is there at every door, on every server, and after every restart; nothing is written to a disk.
 */
import { decodeText } from "../../../domain/active-file.ts";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import { limits } from "../../../domain/limits.ts";
import { describedTool } from "../../../tools/described-tool.ts";
import { textArgument, toolParameters, wholeArgument } from "../../../tools/parameters.ts";
import type { Tool } from "../../../tools/tool.ts";
import { ToolFault } from "../../../tools/tool-fault.ts";
import { readPart } from "../kept/kept-parts.ts";

const parameters = toolParameters(() => ({
  name: textArgument("Name of the part, as the [CONTEXT] block gives it."),
  offset: wholeArgument("First character, from 0.", { min: 0 }).optional(),
}));

const about =
  "Read a part of the input that was given beside the instruction. A long one comes in pieces; the last line says how to go on.";

export function inputTool(blobs: BlobStore, parts: ReadonlyMap<string, PartRef>): Tool {
  return describedTool({
    name: "read_input",
    about,
    effect: "read",
    parameters,
    view: async ({ name }) => ({ title: `Read ${name}`, kind: "read", locations: [], content: [], permission: null }),
    run: async ({ name, offset = 0 }) => {
      const part = parts.get(name);
      if (part === undefined)
        throw new ToolFault(`there is no part ${JSON.stringify(name)}; there are: ${names(parts)}`);
      const content = await readPart(blobs, part);
      const all = decodeText(content);
      if (all === null) throw new ToolFault(`${name} is ${part.mediaType} of ${part.bytes} bytes, and no text`);
      return { output: piece(all, offset), isError: false };
    },
  });
}

function names(parts: ReadonlyMap<string, PartRef>): string {
  return [...parts.keys()].map((name) => JSON.stringify(name)).join(", ") || "none";
}

function piece(all: string, offset: number): string {
  if (offset > 0 && offset >= all.length) throw new ToolFault(`it has ${all.length} characters`);
  const end = Math.min(all.length, offset + limits.readCharactersMax);
  const shown = all.slice(offset, end).toWellFormed();
  return end < all.length
    ? `${shown}\n(characters ${offset} to ${end} of ${all.length}; continue with offset ${end})`
    : shown;
}

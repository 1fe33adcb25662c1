/** Shows the instruction of a stored turn as the client had sent it: with its images, and its mentions of files as links (P4). */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ContentBlock, SessionUpdate } from "@agentclientprotocol/sdk";
import type { TurnPart } from "../../../domain/input-part.ts";
import { withoutPlanNote } from "./editor-modes.ts";
import type { TurnReader } from "../../../engine/engine.ts";

/** Yields one message in several pieces. `folder` is the session's: the paths of files are relative to it. */
export async function* shownInstruction(reader: TurnReader, folder: string): AsyncGenerator<SessionUpdate> {
  const messageId = `${reader.turn.id}:instruction`;
  const text = withoutPlanNote(await reader.instruction());
  const mentions = mentionsOf(reader, folder);
  let rest = text;
  const shown = new Set<TurnPart>();
  while (rest !== "") {
    const found = firstMention(rest, mentions);
    const before = found === null ? rest : rest.slice(0, found.at);
    if (before !== "") yield chunk({ type: "text", text: before }, messageId);
    if (found === null) break;
    rest = rest.slice(found.at + found.mention.text.length);
    const block = await blockOf(reader, found.mention);
    if (found.mention.part !== null) shown.add(found.mention.part);
    yield chunk(block ?? { type: "text", text: found.mention.text }, messageId);
  }
  // A part that came from another door may not be mentioned in the text.
  for (const part of reader.turn.input ?? []) {
    const block = shown.has(part) ? null : await imageOf(reader, part);
    if (block !== null) yield chunk(block, messageId);
  }
}

interface Mention {
  /** The text that stands for it in the instruction. */
  text: string;
  uri: string | null;
  name: string;
  part: TurnPart | null;
}

function mentionsOf({ turn }: TurnReader, folder: string): Mention[] {
  const { activeFiles, skippedFiles } = turn.manifest;
  const paths = new Set([...activeFiles, ...skippedFiles].map(({ path }) => path));
  const files = [...paths].map((path): Mention => {
    return { text: `@${path}`, uri: pathToFileURL(join(folder, path)).href, name: path, part: null };
  });
  const parts = (turn.input ?? []).map((part): Mention => {
    return { text: `@${part.name}`, uri: null, name: part.name, part };
  });
  // The longest first: one path may begin with another.
  return [...parts, ...files].toSorted((a, b) => b.text.length - a.text.length);
}

function firstMention(text: string, mentions: readonly Mention[]): { at: number; mention: Mention } | null {
  let first: { at: number; mention: Mention } | null = null;
  for (const mention of mentions) {
    const at = text.indexOf(mention.text);
    if (at !== -1 && (first === null || at < first.at)) first = { at, mention };
  }
  return first;
}

/** Returns null for a part that is no image: its name in the text says all that a client can show. */
async function blockOf(reader: TurnReader, { uri, name, part }: Mention): Promise<ContentBlock | null> {
  if (part !== null) return await imageOf(reader, part);
  return uri === null ? null : { type: "resource_link", uri, name };
}

async function imageOf(reader: TurnReader, part: TurnPart): Promise<ContentBlock | null> {
  if (!part.mediaType.startsWith("image/")) return null;
  const content = await reader.inputContent(part);
  if (content === null) return null;
  return { type: "image", data: Buffer.from(content).toString("base64"), mimeType: part.mediaType };
}

function chunk(content: ContentBlock, messageId: string): SessionUpdate {
  return { sessionUpdate: "user_message_chunk", content, messageId };
}

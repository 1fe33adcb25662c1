/**
 * Items with the images and files that came with them (I1, O1). An item that is sent back, or referred to, gives the model the
 * same as before. So the contents are shown too; they are read only for the items of a page.
 */
import { mediaOf, type HistoryItem, type UserItem } from "../../domain/history.ts";
import { isMedia, type PartRef, type TurnPart } from "../../domain/input-part.ts";
import type { TurnReader } from "../../engine/engine.ts";
import { isOfProgram, plainItem, type PlainItem } from "./plain-items.ts";

export interface ItemWithFiles {
  plain: PlainItem;
  files: readonly TurnPart[];
}

/**
 * Returns each of a turn's items as the client knows it. `input` are the parts that came with the turn. Null: the program made the
 * item itself.
 */
export function itemsWithFiles(items: readonly HistoryItem[], input: readonly TurnPart[]): (ItemWithFiles | null)[] {
  const files = filesOf(items, input);
  return items.map((item, at) => {
    const own = files[at] ?? [];
    const isShown = item.type !== "user" || !isOfProgram(item) || own.length > 0;
    return isShown ? { plain: plainItem(item), files: own } : null;
  });
}

/** Returns the place of the message that the program's own one of the same turn belongs to. -1: there is none. */
export function lastOfPerson(items: readonly HistoryItem[]): number {
  return items.findLastIndex((item) => item.type === "user" && item.rank === undefined && !isOfProgram(item));
}

/** An image is in its message. A file of text is in the context at the turn's end, and so belongs to the last message. */
function filesOf(items: readonly HistoryItem[], input: readonly TurnPart[]): TurnPart[][] {
  const free = input.filter(({ mode }) => mode === "inline");
  const files = items.map((item) => mediaOf(item).map((ref) => takeFrom(free, ref)));
  const carrier = items.findLastIndex(hasFileText);
  const last = lastOfPerson(items);
  if (carrier !== -1) files[last === -1 ? carrier : last]?.push(...free.filter((part) => !isMedia(part.mediaType)));
  return files;
}

/** Returns true if items of a turn may have images or files, so that the turn must be read. */
export function mayHaveFiles(item: HistoryItem): boolean {
  return mediaOf(item).length > 0 || hasFileText(item);
}

/** A text that only looks like the block of a file does no harm: the turn then has no such part. */
function hasFileText(item: HistoryItem): boolean {
  if (item.type !== "user" || item.rank !== undefined) return false;
  const blocks = isOfProgram(item) ? item.parts : item.parts.slice(1);
  return blocks.some((block) => block.includes("=== INPUT "));
}

/** The part of the turn says where the content came from, which its reference in the history does not. */
function takeFrom(free: TurnPart[], ref: PartRef): TurnPart {
  const at = free.findIndex(({ name, content }) => name === ref.name && content?.sha256 === ref.sha256);
  const [part] = at === -1 ? [] : free.splice(at, 1);
  const { name, mediaType, ...content } = ref;
  return part ?? { type: "binary", mode: "inline", source: null, name, mediaType, content };
}

/** Returns a turn's own message, which is not an item of a history yet. `others` are the turn's other items, which have the first ones of the images. */
export function ownItem(parts: string[], others: readonly HistoryItem[], input: readonly TurnPart[] = []): UserItem {
  const all = input.flatMap(({ mode, name, mediaType, content }) =>
    mode === "inline" && isMedia(mediaType) && content !== null ? [{ name, mediaType, ...content }] : [],
  );
  const media = all.slice(others.flatMap(mediaOf).length);
  return { type: "user", parts, ...(media.length > 0 && { media }) };
}

/** Reads the contents of an item's files. */
export async function withContents({ plain, files }: ItemWithFiles, reader: TurnReader): Promise<PlainItem> {
  if (files.length === 0) return plain;
  const parts = await Promise.all(files.map((file) => filePart(file, reader)));
  if (plain.type === "function_call_output") {
    const text = plain.output === "" ? [] : [{ type: "input_text", text: plain.output }];
    return { ...plain, output: [...text, ...parts] };
  }
  if (plain.type !== "message") return plain;
  const texts = plain.content.filter((part) => !("text" in part) || part.text !== "");
  return { ...plain, content: [...texts, ...parts] };
}

async function filePart(file: TurnPart, reader: TurnReader): Promise<object> {
  const { name, mediaType } = file;
  const address = file.type === "url" ? file.source : null;
  const url =
    address ?? `data:${mediaType};base64,${Buffer.from((await reader.inputContent(file)) ?? []).toString("base64")}`;
  if (isMedia(mediaType) && mediaType.startsWith("image/")) {
    return { type: "input_image", image_url: url, file_id: null, detail: "auto" };
  }
  return { type: "input_file", filename: name, ...(address === null ? { file_data: url } : { file_url: url }) };
}

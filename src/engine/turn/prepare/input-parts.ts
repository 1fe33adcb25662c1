/**
 * Checks the parts of a turn's input, before anything is written (I1). Texts become part of the instruction, addresses
 * are read, and contents get a type and a name. A part that the model is to see at once must be of a type that it can
 * see.
 */
import { decodeText, pathFault } from "../../../domain/active-file.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { sha256 } from "../../../domain/ids.ts";
import { isMedia, plainMediaType, sniffedType, type InputPart, type PartMode } from "../../../domain/input-part.ts";
import { limits } from "../../../domain/limits.ts";
import type { Provider } from "../../../providers/provider.ts";
import type { UrlReader } from "../../../tools/url-reader.ts";
import { isLongForInstruction, isLongText } from "./long-texts.ts";
import type { AcceptedPart } from "../kept/accepted-part.ts";

export interface InputReading {
  provider: Provider;
  model: string;
  /** The window of the model. Null: it is unknown. */
  window: number | null;
  urls: UrlReader | undefined;
}

/**
 * Returns the parts with each text that is too long for an instruction as a part of its own, which is split (M8). A shorter one
 * belongs to the instruction.
 */
export function withLongTexts(input: readonly InputPart[], window: number | null): InputPart[] {
  return input.map((part, at): InputPart => {
    const isText = part.type === "text" && part.text.isWellFormed();
    if (!isText || !isLongForInstruction(part.text, window)) return part;
    const content = Buffer.from(part.text);
    return { type: "binary", content, mediaType: "text/plain", name: `text-${at + 1}.txt`, mode: "inline" };
  });
}

/** Returns the instruction, followed by the texts of the input, with one blank line between two of them. */
export function withTexts(instruction: string, input: readonly InputPart[]): string {
  const texts = input.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return [instruction, ...texts].filter((text) => text !== "").join("\n\n");
}

/**
 * Reads and checks the parts that are not text. Throws `input_part_invalid`, `input_part_unsupported`,
 * `input_too_large`, and what reading an address throws.
 */
export async function readParts(input: readonly InputPart[], reading: InputReading): Promise<AcceptedPart[]> {
  if (input.length > limits.inputPartsMax) {
    throw new AptoveError("input_too_large", `${input.length} parts are more than the ${limits.inputPartsMax} allowed`);
  }
  const others = input.filter((part) => part.type !== "text");
  // They are read one after the other, so that many large addresses are not in memory at once before they are counted.
  const read: AcceptedPart[] = [];
  let room: number = limits.inputBytesMax;
  for (const [index, part] of others.entries()) {
    const found = await readPart(part, { ...reading, room, number: index + 1 });
    room -= found.content?.byteLength ?? 0;
    if (room < 0) throw tooLarge("all parts together", limits.inputBytesMax);
    read.push(found);
  }
  return withOwnNames(read);
}

type OtherPart = Exclude<InputPart, { type: "text" }>;
type Reading = InputReading & { room: number; number: number };

async function readPart(part: OtherPart, reading: Reading): Promise<AcceptedPart> {
  const { content, mediaType: given, source } = await contentOf(part, reading);
  const mode = part.mode ?? "file";
  if (content === null) {
    const path = source ?? "";
    if (mode === "inline") throw invalid(path, "cannot be sent inline without its content; send the content too");
    const mediaType = given ?? "application/octet-stream";
    return { type: part.type, mode, source, name: path, mediaType, content, sha256: "", shown: { as: "name" } };
  }
  if (content.byteLength > limits.inputPartBytesMax) throw tooLarge(labelOf(part, reading), limits.inputPartBytesMax);
  const mediaType = typeOf(content, { given, label: labelOf(part, reading) });
  const name = nameOf(part, { source, mediaType, number: reading.number });
  const facts = { type: part.type, mode, source, name, mediaType, content, sha256: sha256(content) };
  return { ...facts, shown: shownOf({ mode, name, mediaType, content }, reading) };
}

function shownOf(
  { mode, ...part }: { mode: PartMode; name: string; mediaType: string; content: Uint8Array },
  reading: InputReading,
): AcceptedPart["shown"] {
  if (isLongText(part, reading.window)) return { as: "excerpts" };
  return mode === "file" ? { as: "name" } : inlined(part, reading);
}

interface Found {
  content: Uint8Array | null;
  mediaType: string | null;
  source: string | null;
}

async function contentOf(part: OtherPart, { urls, room }: Reading): Promise<Found> {
  if (part.type === "url") {
    if (urls === undefined) throw new AptoveError("url_refused", "this engine does not read web addresses");
    const bytesMax = Math.min(limits.inputPartBytesMax, room);
    return { ...(await urls.read(part.url, { bytesMax })), source: part.url };
  }
  const mediaType = part.mediaType === undefined ? null : checkedType(part.mediaType);
  if (part.type === "binary") return { content: part.content, mediaType, source: null };
  const fault = pathFault(part.path);
  if (fault !== null) throw invalid(part.path, `is not a path of the project: it ${fault}`);
  return { content: part.content ?? null, mediaType, source: part.path };
}

function checkedType(given: string): string {
  const type = plainMediaType(given);
  if (type === null) throw invalid(given, "is not a media type such as image/png");
  return type;
}

/**
 * Returns the media type: the one that the first bytes show, else the one that the caller sent, else that of text if
 * the content is text.
 */
function typeOf(content: Uint8Array, { given, label }: { given: string | null; label: string }): string {
  const sniffed = sniffedType(content);
  if (sniffed !== null && !(given !== null && given.startsWith("application/") && !isMedia(given))) return sniffed;
  if (given !== null && isMedia(given) && /^(?:image\/(?:png|jpeg|gif|webp)|application\/pdf)$/.test(given)) {
    throw invalid(label, `is declared as ${given}, but its content is of another type`);
  }
  if (given !== null && given !== "application/octet-stream") return given;
  return decodeText(content) === null ? "application/octet-stream" : "text/plain";
}

function inlined(
  { name, mediaType, content }: { name: string; mediaType: string; content: Uint8Array },
  { provider, model }: InputReading,
): AcceptedPart["shown"] {
  if (isMedia(mediaType)) {
    const taken = provider.takes?.(model) ?? [];
    if (taken.includes(mediaType)) return { as: "media" };
    throw unsupported(`${name} is ${mediaType}; ${model} of ${provider.name} takes ${["text", ...taken].join(", ")}`);
  }
  const text = decodeText(content);
  if (text === null) {
    throw unsupported(`${name} (${mediaType}) is neither text nor an image or document; send it with mode "file"`);
  }
  return { as: "text", text };
}

const extensions: Record<string, string> = { "text/plain": "txt", "image/jpeg": "jpg", "audio/mpeg": "mp3" };

function nameOf(
  part: OtherPart,
  { source, mediaType, number }: { source: string | null; mediaType: string; number: number },
): string {
  if (part.type === "file") return part.path;
  const given =
    part.type === "binary"
      ? (part.name ?? "")
      : (URL.parse(source ?? "")
          ?.pathname.split("/")
          .at(-1) ?? "");
  const plain = given
    .replace(/[\p{Cc}\u2028\u2029/\\]/gu, "_")
    .toWellFormed()
    .slice(0, limits.partNameCharactersMax);
  if (plain !== "") return plain;
  const extension = extensions[mediaType] ?? /^[a-z]+\/(?:x-)?([a-z0-9]{1,8})$/.exec(mediaType)?.[1] ?? "bin";
  return `input-${number}.${extension}`;
}

/** Gives each part its own name, because the model reads parts by name. */
function withOwnNames(parts: readonly AcceptedPart[]): AcceptedPart[] {
  const known = new Set<string>();
  return parts.map((part) => {
    let { name } = part;
    for (let number = 2; known.has(name); number += 1) name = `${number}-${part.name}`;
    known.add(name);
    return { ...part, name };
  });
}

function labelOf(part: OtherPart, { number }: Reading): string {
  if (part.type === "url") return part.url;
  return part.type === "file" ? part.path : (part.name ?? `part ${number}`);
}

function invalid(what: string, why: string): AptoveError {
  return new AptoveError("input_part_invalid", `${JSON.stringify(what.slice(0, 200))} ${why}`);
}

function unsupported(detail: string): AptoveError {
  return new AptoveError("input_part_unsupported", detail);
}

function tooLarge(what: string, bytesMax: number): AptoveError {
  return new AptoveError("input_too_large", `${what} can have at most ${bytesMax} bytes`, {
    facts: { limitBytes: bytesMax },
  });
}

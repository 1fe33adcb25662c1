/**
 * Stores the contents of input parts, and reads them back for calls and requests (I1, K3). Each content is stored once,
 * as a blob of the turn that brought it. The history, requests and later turns refer to the blob. A content that the
 * history already has is not stored again.
 */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { foreignSourceBytesMax, type ForeignRef } from "../../../domain/foreign.ts";
import { mediaOf } from "../../../domain/history.ts";
import { newId, sha256 } from "../../../domain/ids.ts";
import type { InputPart, PartRef, TurnPart } from "../../../domain/input-part.ts";
import type { State } from "../../../domain/lineage.ts";
import type { ToolFeedback } from "../../../domain/tool.ts";
import type { Turn } from "../../../domain/turn.ts";
import type { ModelCall } from "../../../providers/provider.ts";
import { isReadable, type AcceptedPart } from "./accepted-part.ts";
import type { KnownText } from "../request/recipe.ts";
import { blobKeys, encodeBlob, readBlob } from "./turn-blobs.ts";

/** The input of a turn with the blobs of its contents, in the forms that the row, the message and the history need. */
export interface PlacedInput {
  parts: TurnPart[];
  /** The media of the turn, in the order of the parts. */
  media: PartRef[];
  /** The parts that a tool can read. */
  readable: PartRef[];
  /** The blobs to write before anything refers to them. */
  blobs: { key: string; bytes: Uint8Array }[];
  /** The contents in base64, by blob. */
  loaded: Map<string, string>;
}

export function placeInput(turnId: string, state: State, input: readonly AcceptedPart[]): PlacedInput {
  const placed: PlacedInput = { parts: [], media: [], readable: [], blobs: [], loaded: new Map() };
  const known = new Map(input.length === 0 ? [] : refsOf(state).map((ref) => [ref.sha256, ref.blob]));
  for (const part of input) {
    const { type, mode, source, name, mediaType, content: bytes, sha256: hash } = part;
    if (bytes === null) {
      placed.parts.push({ type, mode, source, name, mediaType, content: null });
      continue;
    }
    const blob = known.get(hash) ?? keepPart(placed, turnId, part);
    known.set(hash, blob);
    const content = { bytes: bytes.byteLength, sha256: hash, blob };
    const ref = { name, mediaType, ...content };
    placed.parts.push({ type, mode, source, name, mediaType, content });
    if (part.shown.as === "media") placed.media.push(ref);
    if (isReadable(part)) placed.readable.push(ref);
  }
  return placed;
}

function keepPart(placed: PlacedInput, turnId: string, { content }: AcceptedPart): string {
  // Two first turns of one session have the same id (S4). Neither may replace the other's blob.
  const key = blobKeys.part(turnId, newId());
  const base64 = Buffer.from(content ?? []).toString("base64");
  placed.blobs.push({ key, bytes: encodeBlob("part", { format: 1, turnId, base64 }) });
  placed.loaded.set(key, base64);
  return key;
}

function refsOf({ entries }: State): PartRef[] {
  return entries.flatMap(({ items, inputs = [] }) => [...inputs, ...items.flatMap(mediaOf)]);
}

/** Reads the media of a call into `loaded`, which belongs to the call. Throws `blob_missing`, `blob_damaged`. */
export async function loadMedia(
  blobs: BlobStore,
  { items }: Pick<ModelCall, "items">,
  loaded: Map<string, string>,
): Promise<void> {
  for (const ref of items.flatMap(mediaOf)) {
    if (!loaded.has(ref.blob)) loaded.set(ref.blob, (await readPart(blobs, ref)).toString("base64"));
  }
}

/** Returns the content of a part. Throws `blob_damaged` if it does not have its hash. */
export async function readPart(
  blobs: BlobStore,
  { blob, sha256: hash }: Pick<PartRef, "blob" | "sha256">,
): Promise<Buffer> {
  const bytes = Buffer.from(await partBase64(blobs, blob), "base64");
  if (sha256(bytes) === hash) return bytes;
  throw new AptoveError("blob_damaged", `${blob} does not have the content that was stored`, { facts: { key: blob } });
}

/** Returns the bytes that a turn of another tool was made from (O8). Throws `blob_damaged` if they do not have their hash. */
export async function readForeignSource(blobs: BlobStore, { source }: ForeignRef): Promise<Buffer> {
  const { blob } = source;
  const bytes = await unpackedSource(Buffer.from(await partBase64(blobs, blob), "base64"), source);
  if (bytes !== null) return bytes;
  throw new AptoveError("blob_damaged", `${blob} does not have the source that was stored`, { facts: { key: blob } });
}

const gunzipAsync = promisify(gunzip);

/**
 * Unpacks the source of a turn of another tool. Null if it is not what the turn says. Its sender may have packed far more than
 * that, so it is unpacked no further.
 */
export async function unpackedSource(
  packed: Uint8Array,
  { bytes: size, sha256: hash }: Pick<ForeignRef["source"], "bytes" | "sha256">,
): Promise<Buffer | null> {
  if (size > foreignSourceBytesMax) return null;
  try {
    const bytes = await gunzipAsync(packed, { maxOutputLength: Math.max(1, size) });
    return bytes.length === size && sha256(bytes) === hash ? bytes : null;
  } catch {
    return null;
  }
}

/**
 * Returns the input of a turn without what its tool results have, to be sent again as it was. Addresses are not read again.
 */
export async function inputAgain(
  blobs: BlobStore,
  { input = [] }: Pick<Turn, "input">,
  ofResults: readonly PartRef[],
): Promise<InputPart[]> {
  const own = [...input];
  for (const { name, blob } of ofResults) {
    const at = own.findLastIndex((part) => part.name === name && part.content?.blob === blob);
    if (at !== -1) own.splice(at, 1);
  }
  return await Promise.all(own.map((part) => partAgain(blobs, part)));
}

async function partAgain(
  blobs: BlobStore,
  { type, mode, source, name, mediaType, content }: TurnPart,
): Promise<InputPart> {
  const bytes = content === null ? {} : { content: await readPart(blobs, content) };
  if (type === "file") return { type, path: source ?? name, mode, mediaType, ...bytes };
  return { type: "binary", content: new Uint8Array(), ...bytes, name, mediaType, mode };
}

/** Returns the answers that a turn brought, to be sent again as they were. */
export async function resultsAgain(
  blobs: BlobStore,
  results: readonly ToolFeedback<PartRef>[],
): Promise<ToolFeedback[]> {
  return await Promise.all(
    results.map(async (answer): Promise<ToolFeedback> => {
      if ("approved" in answer) return answer;
      const { media = [], ...result } = answer;
      const again = await Promise.all(
        media.map(async (ref): Promise<InputPart> => {
          const { name, mediaType } = ref;
          return { type: "binary", content: await readPart(blobs, ref), name, mediaType, mode: "inline" };
        }),
      );
      return again.length === 0 ? result : { ...result, media: again };
    }),
  );
}

async function partBase64(blobs: BlobStore, key: string): Promise<string> {
  const turnId = key.split("/")[1] ?? "";
  return (await readBlob<"part">(blobs, key, turnId)).base64;
}

const mediaName = "media/";

/** Returns the contents of a call's media, as texts that a recipe can refer to. */
export function mediaTexts({ items }: Pick<ModelCall, "items">, loaded: ReadonlyMap<string, string>): KnownText[] {
  const keys = new Set(items.flatMap(mediaOf).map(({ blob }) => blob));
  return [...keys].map((key) => ({ name: `${mediaName}${key}`, text: loaded.get(key) ?? "" }));
}

/** Returns the blob that a name in a recipe refers to. Null if the name is of another kind. */
export function mediaKey(name: string): string | null {
  return name.startsWith(mediaName) ? name.slice(mediaName.length) : null;
}

/** Returns the text that a name in a recipe refers to. Null if the name is of another kind. */
export async function namedMedia(blobs: BlobStore, name: string): Promise<string | null> {
  const key = mediaKey(name);
  return key === null ? null : await partBase64(blobs, key);
}

/**
 * The documents of a turn that are too long to be sent whole (M8): texts that the person attached to it, or to an earlier turn of
 * its history. They are split, and each question gets the chunks that fit it best.
 */
import { decodeText } from "../../../../domain/active-file.ts";
import { AptoveError, failureOf, type Warning } from "../../../../domain/errors.ts";
import { isMedia, type PartRef } from "../../../../domain/input-part.ts";
import { limits } from "../../../../domain/limits.ts";
import type { LongDocument } from "../../../../retrieval/documents.ts";
import type { EngineDependencies } from "../../../dependencies.ts";
import { isReadable } from "../../kept/accepted-part.ts";
import { readPart } from "../../kept/kept-parts.ts";
import type { AcceptedRequest } from "../accepted-request.ts";
import { chooseChunks, type ChunkBounds } from "./choose-chunks.ts";
import type { GatheredChunks, KnownContext } from "./gather-chunks.ts";
import { wholeTextBytesMax } from "../long-texts.ts";

interface SizedDocument extends LongDocument {
  bytes: number;
  /** True if this turn brought it. */
  isNew: boolean;
}

type Attached = Pick<AcceptedRequest, "input" | "readable">;

/** Returns the long documents of the turn and its history, newest first. Of several with one name the newest counts. */
function longDocuments({ input, readable }: Attached, blobs: EngineDependencies["blobs"], window: number | null) {
  const found = new Map<string, SizedDocument>();
  for (const ref of readable.values()) {
    if (ref.bytes > wholeTextBytesMax(window) && !isMedia(ref.mediaType)) found.set(ref.name, keptDocument(ref, blobs));
  }
  for (const part of input) {
    const { name, sha256, content, shown } = part;
    if (content === null || !isReadable(part)) continue;
    found.delete(name);
    if (shown.as !== "excerpts") continue;
    // Nothing of this turn is stored yet.
    found.set(name, { name, sha256, bytes: content.byteLength, isNew: true, read: async () => decodeText(content) });
  }
  return [...found.values()].toReversed();
}

function keptDocument(ref: PartRef, blobs: EngineDependencies["blobs"]): SizedDocument {
  const { name, sha256, bytes } = ref;
  return { name, sha256, bytes, isNew: false, read: async () => decodeText(await readPart(blobs, ref)) };
}

const nothing: GatheredChunks = { refs: [], toSend: [], warnings: [], warned: [], isKept: false, indexed: new Map() };

type DocumentParts = Pick<EngineDependencies, "documents" | "blobs" | "contextTokens">;
type Asking = Attached & Pick<AcceptedRequest, "instruction" | "retrieval" | "model">;

/** The chunks of documents, and what they leave of the bounds for the code of the repository. */
export interface GatheredDocuments {
  chunks: GatheredChunks;
  left: ChunkBounds;
}

/**
 * Searches the long documents for the instruction, and chooses the chunks to send. A turn without such a document does nothing
 * here. If a document cannot be read, this throws, unless retrieval is optional (Q5).
 */
export async function gatherDocuments(
  { documents: search, blobs, contextTokens }: DocumentParts,
  accepted: Asking,
  { sent, bounds }: Pick<KnownContext, "sent" | "bounds">,
): Promise<GatheredDocuments> {
  const { instruction, retrieval, model } = accepted;
  const documents = longDocuments(accepted, blobs, contextTokens(model));
  if (documents.length === 0) return { chunks: nothing, left: bounds };
  const { searched, others } = withinBounds(documents);
  const unsearched = others.map(leftOutWarning);
  try {
    const query = { text: instruction, documents: searched, candidates: limits.retrievalCandidatesMax };
    const candidates = instruction.trim() === "" ? [] : await search.search(query);
    const share = shareOf(bounds, retrieval);
    const chosen = chooseChunks(candidates, { sent, obstacles: new Map() }, { ...share, ofOneFile: true });
    const { refs, toSend } = chosen;
    const left = {
      chunksMax: bounds.chunksMax - (share.chunksMax - chosen.left.chunksMax),
      tokensMax: bounds.tokensMax - (share.tokensMax - chosen.left.tokensMax),
    };
    // Whether an earlier part is text is only known when it was read.
    const split = searched.filter((one) => one.isNew || refs.some(({ document }) => document === one.sha256));
    const noted = newWarnings([...split.map(splitWarning), ...unsearched], sent.warned);
    return { chunks: { ...nothing, refs, toSend, ...noted }, left };
  } catch (error) {
    if (retrieval.policy !== "optional" || !(error instanceof AptoveError)) throw error;
    const { code, message } = failureOf(error);
    const failed: Warning = {
      code: "retrieval_failed",
      message: `answered without the documents: ${message} (${code})`,
    };
    return { chunks: { ...nothing, warnings: [failed] }, left: bounds };
  }
}

/** The documents get half of the room if the repository is searched too, and what they do not need is left for it. */
function shareOf({ chunksMax, tokensMax }: ChunkBounds, { repo, policy }: AcceptedRequest["retrieval"]): ChunkBounds {
  if (repo === null || policy === "off") return { chunksMax, tokensMax };
  return { chunksMax: Math.ceil(chunksMax / 2), tokensMax: Math.ceil(tokensMax / 2) };
}

/** Returns the newest documents that can be searched together, and the others. */
function withinBounds(documents: readonly SizedDocument[]): { searched: SizedDocument[]; others: SizedDocument[] } {
  const searched: SizedDocument[] = [];
  const others: SizedDocument[] = [];
  let bytes = 0;
  for (const document of documents) {
    const fits = bytes + document.bytes <= limits.documentsBytesMax;
    if (fits) bytes += document.bytes;
    (fits ? searched : others).push(document);
  }
  return { searched, others };
}

interface OnceWarning {
  once: string;
  warning: Warning;
}

function splitWarning({ name, sha256, bytes }: SizedDocument): OnceWarning {
  const message = `${name} has ${bytes} bytes and is too long to be sent whole: it was split, and each question gets the chunks that fit it; the model can read the rest with read_input`;
  return { once: `document_split ${sha256}`, warning: { code: "document_split", message } };
}

function leftOutWarning({ name, sha256 }: SizedDocument): OnceWarning {
  const message = `${name} is not searched: the long documents of a conversation are searched up to ${limits.documentsBytesMax} bytes, the newest first; the model can read it with read_input`;
  return { once: `document_not_searched ${sha256}`, warning: { code: "document_not_searched", message } };
}

function newWarnings(all: readonly OnceWarning[], warned: ReadonlySet<string>) {
  const isNew = all.filter(({ once }) => !warned.has(once));
  return { warnings: isNew.map(({ warning }) => warning), warned: isNew.map(({ once }) => once) };
}

/** Joins what was found in documents and in the repository. */
export function joinedChunks(documents: GatheredChunks, code: GatheredChunks): GatheredChunks {
  return {
    ...code,
    refs: [...documents.refs, ...code.refs],
    toSend: [...documents.toSend, ...code.toSend],
    warnings: [...documents.warnings, ...code.warnings],
    warned: [...documents.warned, ...code.warned],
  };
}

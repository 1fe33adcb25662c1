/** Checks one blob of an export: its hash and its form, and what it refers to. */
import { isBlobKey } from "../../blobs/blob-store.ts";
import { mediaOf } from "../../domain/history.ts";
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { StateFile } from "../../domain/lineage.ts";
import { mediaKey } from "../turn/kept/kept-parts.ts";
import type { OpeningBlob } from "../turn/kept/turn-blobs.ts";
import { blobSchemas } from "./blob-schemas.ts";
import { blobBytes, type BlobLine, type PartLine } from "./format.ts";
import { checkedValue } from "./schema.ts";
import type { SpooledLine } from "./spool.ts";

export interface CheckedBlob {
  key: string;
  kind: BlobKind;
  turnId: string;
  hash: string;
  /** The base turn of an opening or a state. Null if there is none. */
  base: string | null;
  /** The turns whose entries a state holds, oldest first. */
  entries: { turnId: string; depth: number }[];
  /** The blobs of input parts that it refers to. */
  parts: string[];
  /** The lines of the file that hold the blob: one line, or one line and its parts. */
  places: SpooledLine[];
}

type BlobKind = keyof typeof blobSchemas;

/** A boot prompt of the file. Its name is the hash of its text, so it is the same in every store. */
export type CheckedPrompt = Pick<CheckedBlob, "key" | "places">;

const promptPattern = /^prompts\/([0-9a-f]{64})\.txt$/;

/** Returns null if the line is another blob. */
export function checkPrompt(line: BlobLine, parts: readonly PartLine[]): { key: string } | { fault: string } | null {
  const hash = promptPattern.exec(line.key)?.[1];
  if (hash === undefined) return null;
  const bytes = blobBytes(line, parts);
  if (bytes.length === line.bytes && sha256(bytes) === hash && line.sha256 === hash) return { key: line.key };
  return { fault: `${line.key} is not the boot prompt of its name` };
}

const keyPattern = /^turns\/([0-9a-f-]{36})\/(part|opening|request|run|state)(?:-[0-9a-z-]+)?\.json$/;

export function checkBlob(line: BlobLine, parts: readonly PartLine[]): CheckedBlob | { fault: string } {
  const { key } = line;
  const [, turnId = "", kind] = keyPattern.exec(key) ?? [];
  if (kind === undefined || !isBlobKey(key)) return { fault: `${JSON.stringify(key)} is not the key of a turn's blob` };
  const bytes = blobBytes(line, parts);
  if (bytes.length !== line.bytes || sha256(bytes) !== line.sha256)
    return { fault: `${key} does not have its SHA-256` };
  if (bytes.length > limits.blobBytesMax) return { fault: `${key} is larger than ${limits.blobBytesMax} bytes` };
  const content = checkedValue(blobSchemas[kind as BlobKind], parsed(bytes), key);
  if ("fault" in content) return content;
  const { turnId: owner, base = null, entries = [] } = content.value as Partial<OpeningBlob & StateFile>;
  if (owner !== turnId) return { fault: `${key} belongs to another turn` };
  return {
    key,
    kind: kind as BlobKind,
    turnId,
    hash: line.sha256,
    base,
    entries: entries.map((entry) => ({ turnId: entry.turnId, depth: entry.depth })),
    parts: namedParts(content.value as Partial<OpeningBlob & StateFile>),
    places: [],
  };
}

/** Returns the blobs of input parts that the history and the recipe of a request refer to. */
function namedParts({ entries = [], request = null }: Partial<OpeningBlob & StateFile>): string[] {
  const recipe = (request?.pieces ?? []).flatMap((piece) => (typeof piece === "string" ? [] : [piece.known]));
  return [
    ...recipe.flatMap((name) => mediaKey(name) ?? []),
    ...entries.flatMap(({ items, inputs = [] }) => [
      ...inputs.map(({ blob }) => blob),
      ...items.flatMap(mediaOf).map(({ blob }) => blob),
    ]),
  ];
}

/** Returns the value, or undefined if it is not JSON; no schema accepts that. */
function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

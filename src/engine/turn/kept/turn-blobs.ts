/**
 * The blobs of a turn: three files for a turn of one model call (docs/formats).
 *
 * - `opening.json`: the instruction, the user message, the first request. Written before the model is called.
 * - `request-2.json`, …: requests of later model calls, each written before its call.
 * - `run.json`: events, responses, and the outputs of tools that were too long for the model. Written when the run ends.
 * - `part-<id>.json`: the content of a part of the input (I1). Written before the opening's row.
 * - `state.json`: the history since the base turn (K2). Written when the run ends well.
 *
 * Beside the turns, `prompts/<hash>.txt` has each boot prompt that a turn had, so that a manifest's hash leads to its text (G1).
 *
 * Blobs are immutable. Whoever may come to other bytes than another writes under a name of its own (each recovery of a
 * turn does), and the turn's row says which one counts.
 */
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { KeptEvent } from "../../../domain/events.ts";
import type { StateFile } from "../../../domain/lineage.ts";
import type { ToolFeedback } from "../../../domain/tool.ts";
import type { DeliveredMessage } from "../request/mailbox-block.ts";
import type { RequestRecipe } from "../request/recipe.ts";

export interface OpeningBlob {
  format: 1;
  turnId: string;
  /** The turn whose first request the recipes of this turn build on (K3); null for none. */
  base: string | null;
  instruction: string;
  toolResults: ToolFeedback[];
  /** What the turn was given of its session's mailbox (A2). Absent: nothing. */
  mailbox?: DeliveredMessage[];
  /** The parts of the user message as the model got them; empty where the turn only brings tool results. */
  message: string[];
  /** Null where the turn failed before there was a request. */
  request: RequestRecipe | null;
}

/** A request of a later model call of the turn. */
export interface RequestBlob {
  format: 1;
  turnId: string;
  /** The step of this turn whose request the recipe builds on; null: it builds on the base turn's, like the opening's. */
  baseStep: number | null;
  request: RequestRecipe;
}

export interface RunBlob {
  format: 1;
  turnId: string;
  events: KeptEvent[];
  /** The exact bytes of each step's response: as text where they are UTF-8, else in base64. */
  responses: { step: number; text?: string; base64?: string }[];
  /** Whole outputs of tools, of which the model got a part. Absent: there are none. */
  outputs?: { callId: string; text: string }[];
}

/** The content of a part of the input (I1), whatever it is. */
export interface PartBlob {
  format: 1;
  turnId: string;
  base64: string;
}

interface BlobTypes {
  part: PartBlob;
  opening: OpeningBlob;
  request: RequestBlob;
  run: RunBlob;
  state: StateFile;
}

export const blobKeys = {
  /** A boot prompt, kept once however many turns had it; it is part of no turn, and is not collected. */
  prompt: (hash: string) => `prompts/${hash}.txt`,
  opening: (turnId: string, attempt: string | null) =>
    `turns/${turnId}/opening${attempt === null ? "" : `-${attempt}`}.json`,
  request: (turnId: string, step: number) => `turns/${turnId}/request-${step}.json`,
  run: (turnId: string, attempt: number) => `turns/${turnId}/run${attempt === 1 ? "" : `-${attempt}`}.json`,
  recoveredRun: (turnId: string, attempt: string) => `turns/${turnId}/run-recovered-${attempt}.json`,
  part: (turnId: string, attempt: string) => `turns/${turnId}/part-${attempt}.json`,
  state: (turnId: string) => `turns/${turnId}/state.json`,
} as const;

export function encodeBlob<K extends keyof BlobTypes>(_kind: K, content: BlobTypes[K]): Uint8Array {
  return Buffer.from(JSON.stringify(content));
}

/** Reads a blob of one kind; one that is missing, damaged or of another turn is an error that names it (B3). */
export async function readBlob<K extends keyof BlobTypes>(
  blobs: BlobStore,
  key: string,
  turnId: string,
): Promise<BlobTypes[K]> {
  const bytes = await blobs.get(key);
  if (bytes === null) throw new AptoveError("blob_missing", `there is no blob ${key}`, { facts: { key } });
  const content = parse(key, bytes);
  if (content.format !== 1) {
    const known = typeof content.format === "number" && content.format > 1;
    throw new AptoveError(known ? "data_newer" : "blob_damaged", `${key} has the format ${String(content.format)}`);
  }
  if (content.turnId !== turnId) {
    throw new AptoveError("blob_damaged", `${key} belongs to the turn ${String(content.turnId)}`, { facts: { key } });
  }
  return content as unknown as BlobTypes[K];
}

function parse(key: string, bytes: Uint8Array): { format?: unknown; turnId?: unknown } {
  try {
    const content: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (typeof content === "object" && content !== null) return content;
  } catch (cause) {
    throw new AptoveError("blob_damaged", `${key} is not JSON`, { facts: { key }, cause });
  }
  throw new AptoveError("blob_damaged", `${key} is not an object`, { facts: { key } });
}

export function encodeResponse(step: number, chunks: readonly Uint8Array[]): RunBlob["responses"][number] {
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString("utf8");
  // Only text that comes back as the same bytes may be kept as text (D3).
  return Buffer.from(text).equals(bytes) ? { step, text } : { step, base64: bytes.toString("base64") };
}

export function decodeResponse(response: RunBlob["responses"][number]): Uint8Array {
  return response.base64 === undefined ? Buffer.from(response.text ?? "") : Buffer.from(response.base64, "base64");
}

/** Marks of running imports: while one stands there, it cannot be decided which blobs are garbage. */
export const importMarks = "imports/";

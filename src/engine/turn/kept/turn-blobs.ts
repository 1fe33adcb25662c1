/**
 * The blobs of a turn: three files for a turn of one model call (docs/formats).
 *
 * - `opening.json`: the instruction, the user message, the first request. Written before the model is called.
 *
 * - `request-2.json`, …: requests of later model calls, each written before its call.
 *
 * - `run.json`: events, responses, and the outputs of tools that were too long for the model. Written when the run
 * ends.
 *
 * - `part-<id>.json`: the content of a part of the input (I1). Written before the opening's row.
 *
 * - `progress-2.json`, …: what a running turn did before that model call (R6). Deleted when the turn has ended.
 *
 * - `state.json`: the history since the base turn (K2). Written when the run ends, unless it failed and had done nothing.
 *   A recovery uses a name of its own, and the row of the turn names the one that counts.
 *
 * Beside the turns, `prompts/<hash>.txt` has each boot prompt that a turn used, so that the hash in a manifest leads to
 * its text (G1).
 *
 * Blobs are immutable. A writer that may produce other bytes than another writer uses its own name, as each recovery of
 * a turn does. The row of the turn decides which blob counts.
 */
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { KeptEvent } from "../../../domain/events.ts";
import type { HistoryItem } from "../../../domain/history.ts";
import { sha256 } from "../../../domain/ids.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import type { StateFile } from "../../../domain/lineage.ts";
import { stateBytes } from "../../../records/state-bytes.ts";
import type { Step } from "../../../domain/step.ts";
import type { ToolDefinition, ToolFeedback } from "../../../domain/tool.ts";
import type { BlobWrite, SharedHistory } from "../../../records/turn-store.ts";
import type { DeliveredMessage } from "../request/mailbox-block.ts";
import type { RequestRecipe } from "../request/recipe.ts";
import type { TurnBeginning } from "./turn-state.ts";

/** The part of a request that neither the row nor the manifest of its turn has (T4). */
export interface AskedBeside {
  language?: string;
  pathPrefixes?: string[];
  toolChoice?: string;
  /** The client's tools that the model could call. Absent: all of them. */
  allowedTools?: string[];
  mustCallTool?: true;
  onlyNamedTools?: true;
  /** True if the model could only see the client's tools, and not call them. */
  onlyListsTools?: true;
  /** The place of the request's own instructions in the boot prompt (O4). Absent: there were none. */
  instructionsAt?: { from: number; to: number };
  clientData?: Record<string, unknown>;
}

export interface OpeningBlob {
  format: 1;
  turnId: string;
  /** The turn whose first request is the base of the recipes of this turn (K3). Null if there is none. */
  base: string | null;
  instruction: string;
  /** The earlier items, as the history has it. Absent: nothing. */
  earlier?: HistoryItem[];
  toolResults: ToolFeedback<PartRef>[];
  /** The messages of the mailbox that the turn delivered (A2). Absent: none. */
  mailbox?: DeliveredMessage[];
  /** The tools that the client runs, if no ancestor stored the same (E4). Absent: there are none, or an ancestor has them. */
  tools?: ToolDefinition[];
  /** What the request asked for beside what the row has, for a rerun (T7). Absent: nothing. */
  asked?: AskedBeside;
  /** The parts of the user message as the model received them. Empty if the turn only brings tool results. */
  message: string[];
  /** The first request. Null if the turn failed before there was one. */
  request: RequestRecipe | null;
}

/** The request of a later model call of the turn. */
export interface RequestBlob {
  format: 1;
  turnId: string;
  /**
   * The step of this turn whose request is the base of the recipe. Null: the base is that of the opening, the first
   * request of the base turn.
   */
  baseStep: number | null;
  request: RequestRecipe;
}

export interface RunBlob {
  format: 1;
  turnId: string;
  events: KeptEvent[];
  /** The exact bytes of each step's response: as text if they are valid UTF-8, else in base64. */
  responses: { step: number; text?: string; base64?: string }[];
  /** The whole outputs of tools of which the model received only a part. Absent: there are none. */
  outputs?: { callId: string; text: string }[];
}

/** What a turn did between two model calls. */
export interface ProgressPart {
  /** How many events came before these, after deltas were split again. */
  eventsBefore: number;
  events: KeptEvent[];
  responses: RunBlob["responses"];
  outputs: NonNullable<RunBlob["outputs"]>;
  items: HistoryItem[];
  /** The steps that may not be in the records yet. */
  steps: Step[];
}

export interface ProgressBlob extends ProgressPart {
  format: 1;
  turnId: string;
  /** What the turn added to the history before the model answered. Null: as in the part before. */
  beginning: TurnBeginning | null;
}

/** A message to a running turn, stored before its sender learns that it is accepted (V4). */
export interface SteerBlob {
  format: 1;
  turnId: string;
  text: string;
}

/** The content of a part of the input (I1), of any type. */
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
  progress: ProgressBlob;
  steer: SteerBlob;
}

export const blobKeys = {
  /** A boot prompt, stored once for all turns that used it. It belongs to no turn, and is never collected. */
  prompt: (hash: string) => `prompts/${hash}.txt`,
  opening: (turnId: string, attempt: string | null) =>
    `turns/${turnId}/opening${attempt === null ? "" : `-${attempt}`}.json`,
  request: (turnId: string, step: number) => `turns/${turnId}/request-${step}.json`,
  run: (turnId: string, attempt: number) => `turns/${turnId}/run${attempt === 1 ? "" : `-${attempt}`}.json`,
  recoveredRun: (turnId: string, attempt: string) => `turns/${turnId}/run-recovered-${attempt}.json`,
  part: (turnId: string, attempt: string) => `turns/${turnId}/part-${attempt}.json`,
  state: (turnId: string) => `turns/${turnId}/state.json`,
  recoveredState: (turnId: string, attempt: string) => `turns/${turnId}/state-recovered-${attempt}.json`,
  steer: (turnId: string, id: string) => `turns/${turnId}/steer-${id}.json`,
  /** The exact bytes of a call that made a summary (M5). They belong to the last turn of its range, and are purged with it. */
  summaryRequest: (turnId: string, call: number, id: string) => `turns/${turnId}/summary-${call}-request-${id}.json`,
  summaryResponse: (turnId: string, call: number, id: string) => `turns/${turnId}/summary-${call}-response-${id}.json`,
  progress: (turnId: string, step: number) => `turns/${turnId}/progress-${step}.json`,
} as const;

export function encodeBlob<K extends keyof BlobTypes>(_kind: K, content: BlobTypes[K]): Uint8Array {
  return Buffer.from(JSON.stringify(content));
}

/** Returns a state as it is stored, and where each of its entries stands in the bytes. */
export function encodeState(key: string, state: StateFile): { write: BlobWrite; history: SharedHistory } {
  const { bytes, entries } = stateBytes(state);
  return { write: { key, bytes }, history: { key, entries } };
}

/**
 * Returns the content of a blob of one kind. Throws an error that names the blob if it is missing, damaged, or of
 * another turn (B3).
 */
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

/** Returns the boot prompt of a hash. Null if it is not stored. Throws `blob_damaged` if the stored text is another one. */
export async function readBootPrompt(blobs: BlobStore, hash: string): Promise<Uint8Array | null> {
  const key = blobKeys.prompt(hash);
  const bytes = await blobs.get(key);
  if (bytes === null || sha256(bytes) === hash) return bytes;
  throw new AptoveError("blob_damaged", `${key} does not have the boot prompt of its name`, { facts: { key } });
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

export function encodeResponse(step: number, bytes: Buffer): RunBlob["responses"][number] {
  const text = bytes.toString("utf8");
  // Only text that is encoded to the same bytes may be stored as text (D3).
  return Buffer.from(text).equals(bytes) ? { step, text } : { step, base64: bytes.toString("base64") };
}

export function decodeResponse(response: RunBlob["responses"][number]): Uint8Array {
  return response.base64 === undefined ? Buffer.from(response.text ?? "") : Buffer.from(response.base64, "base64");
}

/** The prefix of the marks of running imports. As long as there is a mark, it is not known which blobs are garbage. */
export const importMarks = "imports/";

/** The prefix of the blobs that a health check writes and deletes. A crash may leave one. */
export const healthProbes = "probes/";

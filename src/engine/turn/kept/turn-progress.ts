/**
 * The progress of a running turn of several model calls (R6). Before each further call everything that the turn did since
 * the call before is stored: events, exact responses, items, results of tools. A recovery builds the end of a lost turn
 * from it. When the turn ends, its run and its state have the same content, and the progress is deleted.
 */
import type { BlobStore } from "../../../blobs/blob-store.ts";
import type { BlobWrite } from "../../../records/turn-store.ts";
import { blobKeys, encodeBlob, readBlob, type ProgressBlob, type ProgressPart } from "./turn-blobs.ts";
import type { TurnBeginning } from "./turn-state.ts";

/** Returns the blob of the part that precedes the model call `step`. */
export function progressBlob(
  { turnId, step }: { turnId: string; step: number },
  part: ProgressPart & { beginning: TurnBeginning | null },
): BlobWrite {
  return { key: blobKeys.progress(turnId, step), bytes: encodeBlob("progress", { format: 1, turnId, ...part }) };
}

/**
 * Returns the stored parts, oldest first. A part that cannot be read ends the progress: what follows it would have a
 * gap before it.
 */
export async function readProgress(
  blobs: BlobStore,
  turnId: string,
  onFault: (error: unknown) => void,
): Promise<ProgressBlob[]> {
  const parts: ProgressBlob[] = [];
  try {
    for (const key of await progressKeys(blobs, turnId)) {
      parts.push(await readBlob<"progress">(blobs, key, turnId));
    }
  } catch (error) {
    onFault(error);
  }
  return parts;
}

/** Returns the keys of the parts, oldest first. */
async function progressKeys(blobs: BlobStore, turnId: string): Promise<string[]> {
  const prefix = `turns/${turnId}/progress-`;
  const stepOf = (key: string): number => Number.parseInt(key.slice(prefix.length), 10);
  return (await blobs.list(prefix)).toSorted((a, b) => stepOf(a) - stepOf(b));
}

/** Returns the prefixes of what only a running turn needs: all parts, and the messages that were stored while it ran (V4). */
export function runningBlobs(turnId: string): string[] {
  return [`turns/${turnId}/progress-`, `turns/${turnId}/steer-`];
}

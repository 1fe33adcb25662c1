/** Packs the blobs of a turn that ends (K6). */
import { crc32 } from "node:zlib";
import type { BlobWrite, SharedHistory } from "../../../turn-store.ts";
import type { StoredEntry } from "./blob-pack.ts";
import { foldEvents } from "./fold-events.ts";
import { writePack, type HistoryRef, type StateLayout } from "./pack-format.ts";
import { aroundOthers, aroundState, type PackSurroundings } from "./pack-parts.ts";
import { emptyPart, packPart } from "./parts.ts";

/** Folding looks at every byte on this thread. Longer blobs are packed as they are. */
const foldedBytesMax = 4_194_304;

export interface TurnToPack {
  /** The blobs by their names in the folder of the turn. */
  blobs: readonly BlobWrite[];
  history: SharedHistory | null;
  /** The entries of earlier turns that other contents have, by turn. */
  stored: ReadonlyMap<string, StoredEntry>;
}

export async function packBlobs({ blobs, history, stored }: TurnToPack, around: PackSurroundings): Promise<Buffer> {
  const state = blobs.find(({ key }) => key === history?.key);
  const others = blobs.filter((blob) => blob !== state);
  const split = state === undefined || history === null ? null : splitState(state.bytes, history, stored);
  const own =
    split === null ? { packed: Buffer.alloc(0), part: emptyPart } : await packPart(split.bytes, aroundState(around));
  const rest = Buffer.concat(others.map(({ bytes }) => bytes));
  const folded = rest.length > foldedBytesMax ? null : foldEvents(rest);
  const { packed } = await packPart(folded ?? rest, aroundOthers(around, own.part));
  return writePack({
    usesSeed: around.seed !== null,
    isFolded: folded !== null,
    members: [...(state === undefined ? [] : [state]), ...others].map(({ key, bytes }) => ({
      name: key,
      length: bytes.length,
    })),
    state: split?.layout ?? null,
    statePart: own.packed,
    othersPart: packed,
  });
}

/** Leaves out the entries that other contents have. */
function splitState(
  bytes: Uint8Array,
  { entries }: SharedHistory,
  stored: TurnToPack["stored"],
): { bytes: Buffer; layout: StateLayout } {
  const pieces: Uint8Array[] = [];
  const refs: HistoryRef[] = [];
  let from = 0;
  let kept = 0;
  const keep = (end: number): void => {
    pieces.push(bytes.subarray(from, end));
    kept += end - from;
    from = end;
  };
  for (const { turnId, start, end } of entries.slice(0, -1)) {
    const found = stored.get(turnId);
    // An imported state may have been written in another way than the state of its ancestor.
    if (found === undefined || Buffer.compare(found.bytes, bytes.subarray(start, end)) !== 0) continue;
    keep(start);
    refs.push({ before: kept, contentId: found.id });
    from = end;
  }
  const last = entries.at(-1);
  const own =
    last === undefined ? { start: 0, length: 0 } : { start: last.start - from + kept, length: last.end - last.start };
  keep(bytes.length);
  return { bytes: Buffer.concat(pieces), layout: { crc: crc32(bytes), own, refs } };
}

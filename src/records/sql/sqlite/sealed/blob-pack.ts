/**
 * The blobs of a finished turn as one value (docs/formats/records.md). The state comes first, as a part of its own, because
 * a session that is continued needs the states of many turns. The entries that earlier turns have too are not in it: the pack
 * names the contents that have them (K2, K6). All other blobs are one part, which has the row and the state before it.
 */
import { crc32 } from "node:zlib";
import { AptoveError } from "../../../../domain/errors.ts";
import type { ContentText } from "./content-row.ts";
import { unfoldEvents } from "./fold-events.ts";
import { unpackFrame, unpackLongFrame } from "./frames.ts";
import { readPack, type PackHeader } from "./pack-format.ts";
import { aroundOthers, aroundState, type PackSurroundings } from "./pack-parts.ts";
import { emptyPart, unpackLongPart, unpackPart, type Part } from "./parts.ts";

/** A blob in a pack. */
export interface PackedMember {
  name: string;
  /** The length of the blob, in bytes. */
  length: number;
  /** The bytes that it takes in the pack. */
  packedLength: number;
}

/** What a turn added to the history, and the content that has it. */
export interface StoredEntry {
  id: number;
  bytes: Uint8Array;
}

/** Reads a pack. Throws an error if a byte of it was changed. */
export class BlobPack {
  readonly #header: PackHeader;

  constructor(bytes: Uint8Array) {
    this.#header = readPack(bytes);
  }

  get members(): PackedMember[] {
    const { members, state, statePart, othersPart } = this.#header;
    const others = members.slice(state === null ? 0 : 1).reduce((sum, { length }) => sum + length, 0);
    return members.map(({ name, length }, index) => {
      const isState = state !== null && index === 0;
      const share = Math.ceil((othersPart.length * length) / Math.max(1, others));
      return { name, length, packedLength: isState ? statePart.length : share };
    });
  }

  /** Returns the bytes of the state that are in this pack. */
  ownState({ text, seed }: Omit<PackSurroundings, "row">): Part {
    const { isOld, usesSeed, statePart } = this.#header;
    const used = usesSeed ? seed : null;
    if (isOld) return oldPart(unpackFrame(statePart, [...(used === null ? [] : [used.state.short]), rawWords(text)]));
    return statePart.length === 0 ? emptyPart : unpackPart(statePart, aroundState({ text, seed: used }));
  }

  /** Returns the entry of the turn itself. */
  ownEntry(ownState: Uint8Array): Uint8Array {
    const { start, length } = this.#header.state?.own ?? { start: 0, length: 0 };
    return ownState.subarray(start, start + length);
  }

  /** Returns the contents that have the rest of the state. */
  get refs(): number[] {
    return this.#header.state?.refs.map(({ contentId }) => contentId) ?? [];
  }

  /** Returns the whole state. `entries` are those of `refs`, in their order. */
  state(ownState: Uint8Array, entries: readonly Uint8Array[]): Buffer {
    const pieces: Uint8Array[] = [];
    let at = 0;
    for (const [index, { before }] of (this.#header.state?.refs ?? []).entries()) {
      pieces.push(ownState.subarray(at, before), entries[index] ?? new Uint8Array());
      at = before;
    }
    pieces.push(ownState.subarray(at));
    const whole = Buffer.concat(pieces);
    if (crc32(whole) !== this.#header.state?.crc)
      throw new AptoveError("storage_failed", "an earlier turn has another entry than it had");
    return whole;
  }

  /** Returns all blobs but the state, as one, in the form in which they were packed. */
  async packedOthers({ text, row, seed }: PackSurroundings, ownState: Part): Promise<Part> {
    const { isOld, usesSeed, othersPart } = this.#header;
    const used = usesSeed ? seed : null;
    if (!isOld) return await unpackLongPart(othersPart, aroundOthers({ text, row, seed: used }, ownState));
    const before = [...(used === null ? [] : [used.others.short]), row.short, ownState.short];
    return oldPart(await unpackLongFrame(othersPart, before));
  }

  /** Returns all blobs but the state, as one. `packed` is what `packedOthers` returned. */
  others({ bytes }: Part): Buffer {
    return this.#header.isFolded ? unfoldEvents(bytes) : bytes;
  }

  /** Returns the place of a blob in `others`. Null: there is no such blob. `"state"`: it is the state. */
  find(name: string): { start: number; end: number } | "state" | null {
    const { members, state } = this.#header;
    let start = 0;
    for (const [index, { name: found, length }] of members.entries()) {
      const isState = state !== null && index === 0;
      if (found === name) return isState ? "state" : { start, end: start + length };
      if (!isState) start += length;
    }
    return null;
  }
}

/** Version 1 left nothing out. */
function oldPart(bytes: Buffer): Part {
  return { bytes, short: bytes, values: [] };
}

function rawWords({ instruction, answer }: ContentText): Buffer {
  return Buffer.from(instruction + answer);
}

/**
 * The blobs of a finished turn as one value (docs/formats/records.md). The state comes first, in a frame of its own, because
 * a session that is continued needs the states of many turns. The entries that earlier turns have too are not in it: the pack
 * names the contents that have them (K2, K6). All other blobs are one frame, which has the row and the state before it.
 */
import { crc32 } from "node:zlib";
import { AptoveError } from "../../../../domain/errors.ts";
import { unfoldEvents } from "./fold-events.ts";
import { unpackFrame, unpackLongFrame } from "./frames.ts";
import { readPack, type PackHeader } from "./pack-format.ts";

/** The texts and the earlier turn that reader and writer of a pack have. */
export interface PackSurroundings {
  /** The instruction and the answer of the turn. */
  texts: Uint8Array;
  /** The row of the turn, as it was sealed. */
  row: Uint8Array;
  /** The pack of the earlier turn: the bytes of its state, and its other blobs in packed form. Null: there is none, or it has no blobs. */
  seed: { state: Uint8Array; others: Uint8Array } | null;
}

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
    const { members, state, stateFrame, othersFrame } = this.#header;
    const others = members.slice(state === null ? 0 : 1).reduce((sum, { length }) => sum + length, 0);
    return members.map(({ name, length }, index) => {
      const isState = state !== null && index === 0;
      const share = Math.ceil((othersFrame.length * length) / Math.max(1, others));
      return { name, length, packedLength: isState ? stateFrame.length : share };
    });
  }

  /** Returns the bytes of the state that are in this pack. */
  ownState({ texts, seed }: Omit<PackSurroundings, "row">): Buffer {
    const { usesSeed, stateFrame } = this.#header;
    return unpackFrame(stateFrame, usesSeed && seed !== null ? [seed.state, texts] : [texts]);
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

  /** Returns all blobs but the state, as one, in the form in which they stand before those of a later turn. */
  async packedOthers({ row, seed }: PackSurroundings, ownState: Uint8Array): Promise<Buffer> {
    const { usesSeed, othersFrame } = this.#header;
    const before = [...(usesSeed && seed !== null ? [seed.others] : []), row, ownState];
    return await unpackLongFrame(othersFrame, before);
  }

  /** Returns all blobs but the state, as one. `packed` is what `packedOthers` returned. */
  others(packed: Buffer): Buffer {
    return this.#header.isFolded ? unfoldEvents(packed) : packed;
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

/** The bytes of a pack: a few numbers and names, and two parts (docs/formats/records.md). */
import { crc32 } from "node:zlib";
import { AptoveError } from "../../../../domain/errors.ts";
import { ByteReader, ByteWriter } from "./byte-writer.ts";

const version = 2;
/** The parts of version 1 are bare frames. */
const oldestVersion = 1;
/** Names that most turns have are one byte. The order is part of the format. */
const usualNames = ["", "opening.json", "run.json", "state.json"];

/** The part of a state that is in an earlier turn's pack: the content's id, and how many bytes of this pack come before it. */
export interface HistoryRef {
  before: number;
  contentId: number;
}

export interface StateLayout {
  /** CRC-32 of the whole state. */
  crc: number;
  /** The place of the turn's own entry in the bytes of this pack. */
  own: { start: number; length: number };
  refs: HistoryRef[];
}

export interface PackHeader {
  /** True: version 1 wrote the pack. */
  isOld: boolean;
  usesSeed: boolean;
  /** True if the events in the second part are folded. */
  isFolded: boolean;
  members: { name: string; length: number }[];
  /** Null: there is no state. */
  state: StateLayout | null;
  statePart: Uint8Array;
  othersPart: Uint8Array;
}

export function writePack({
  usesSeed,
  isFolded,
  members,
  state,
  statePart,
  othersPart,
}: Omit<PackHeader, "isOld">): Buffer {
  const writer = new ByteWriter();
  writer.byte(version);
  writer.byte((usesSeed ? 1 : 0) | (state === null ? 0 : 2) | (isFolded ? 4 : 0));
  writer.number(members.length);
  for (const { name, length } of members) {
    const usual = Math.max(0, usualNames.indexOf(name));
    writer.byte(usual);
    if (usual === 0) {
      writer.number(Buffer.byteLength(name));
      writer.bytes(Buffer.from(name));
    }
    writer.number(length);
  }
  if (state !== null) {
    writer.number(state.crc);
    writer.number(state.own.start);
    writer.number(state.own.length);
    writer.number(state.refs.length);
    let at = 0;
    let id = 0;
    for (const { before, contentId } of state.refs) {
      writer.number(before - at);
      // Turns that follow one another often have contents that do too.
      writer.number(contentId > id ? 2 * (contentId - id) : 2 * (id - contentId) + 1);
      at = before;
      id = contentId;
    }
  }
  writer.number(statePart.length);
  writer.bytes(statePart);
  writer.bytes(othersPart);
  const whole = writer.whole();
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(crc32(whole));
  return Buffer.concat([whole, sum]);
}

/** Reads the bytes of a pack. Throws an error if one of them was changed. */
export function readPack(bytes: Uint8Array): PackHeader {
  const whole = bytes.subarray(0, Math.max(0, bytes.length - 4));
  const sum = Buffer.from(bytes.subarray(whole.length));
  if (sum.length < 4 || sum.readUInt32LE() !== crc32(whole)) {
    throw new AptoveError("storage_failed", "its checksum does not match");
  }
  return readHeader(whole);
}

function readHeader(whole: Uint8Array): PackHeader {
  const reader = new ByteReader(whole);
  const written = reader.byte();
  if (written < oldestVersion || written > version)
    throw new AptoveError("data_newer", "a newer version wrote the blobs of a turn; update aptove");
  const flags = reader.byte();
  const members = Array.from({ length: reader.number() }, () => {
    const name = usualNames[reader.byte()] || Buffer.from(reader.bytes(reader.number())).toString();
    return { name, length: reader.number() };
  });
  const state = (flags & 2) === 0 ? null : readLayout(reader);
  const statePart = reader.bytes(reader.number());
  return {
    isOld: written < version,
    usesSeed: (flags & 1) !== 0,
    isFolded: (flags & 4) !== 0,
    members,
    state,
    statePart,
    othersPart: reader.rest(),
  };
}

function readLayout(reader: ByteReader): StateLayout {
  const crc = reader.number();
  const own = { start: reader.number(), length: reader.number() };
  let before = 0;
  let contentId = 0;
  const refs = Array.from({ length: reader.number() }, () => {
    before += reader.number();
    const step = reader.number();
    contentId += step % 2 === 0 ? step / 2 : -(step - 1) / 2;
    return { before, contentId };
  });
  return { crc, own, refs };
}

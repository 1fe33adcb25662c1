import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { BlobPack, type StoredEntry } from "./blob-pack.ts";
import type { ContentText } from "./content-row.ts";
import { packBlobs } from "./pack-blobs.ts";
import type { PackSurroundings } from "./pack-parts.ts";
import { emptyPart, packPart, unpackPart, type Around, type Part } from "./parts.ts";
import { unsealRow } from "./sealed-row.ts";

const values = ["0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "0190a1b2c3d47e5f8a9b0c1d2e3f4a5b0f", `${"ab12".repeat(16)}f`];
const long = 'A text of an answer,\nin "several" lines, that stands in the state and in a request.\n'.repeat(3);
const token = fc.constantFrom(...values, long, JSON.stringify(long), JSON.stringify(JSON.stringify(long)));
const piece = fc
  .array(fc.oneof(fc.string({ maxLength: 50 }), token), { maxLength: 6 })
  .map((texts) => Buffer.concat(texts.flatMap((one) => [Buffer.from(one), Buffer.of(0xff)])));
const part = piece.map((bytes): Part => ({ bytes, short: bytes, values: values.slice(1) }));
const contentText = fc.constantFrom("", "a question", long).map((words): ContentText => wordsOf(words, long));
const entries = fc.array(fc.record({ bytes: piece, kept: fc.constantFrom("here", "there", "there, but changed") }), {
  minLength: 1,
  maxLength: 20,
});
const turns = fc.record({
  parts: entries,
  more: fc.array(piece, { maxLength: 4 }),
  earlier: fc.option(fc.record({ state: part, others: part })),
  row: part,
  text: contentText,
});

function wordsOf(instruction: string, answer: string): ContentText {
  return { instruction, answer, folded_instruction: null, folded_answer: null };
}

test("[K6] [D3] a pack gives back every blob, whatever earlier turns have of its state", async () => {
  const property = fc.asyncProperty(turns, async ({ parts, more, earlier, row, text }) => {
    const around: PackSurroundings = { text, row, seed: earlier };
    const state = stateOf(parts.map(({ bytes }) => bytes));
    const stored = new Map<string, StoredEntry>();
    for (const [index, { bytes, kept }] of parts.entries()) {
      if (kept === "here") continue;
      stored.set(`t${index}`, {
        id: 900 - index,
        bytes: kept === "there" ? bytes : Buffer.concat([bytes, bytes, Buffer.of(1)]),
      });
    }
    const blobs = [
      { key: "state.json", bytes: state.bytes },
      ...more.map((bytes, at) => ({ key: `request-${at}.json`, bytes })),
    ];
    const pack = new BlobPack(
      await packBlobs({ blobs, history: { key: "state.json", entries: state.entries }, stored }, around),
    );
    const own = pack.ownState(around);
    const byId = new Map([...stored.values()].map(({ id, bytes }) => [id, bytes]));
    const whole = pack.state(
      own.bytes,
      pack.refs.map((id) => byId.get(id) ?? assert.fail()),
    );
    assert.deepEqual(whole, state.bytes);
    assert.deepEqual(Buffer.from(pack.ownEntry(own.bytes)), parts.at(-1)?.bytes);
    const all = pack.others(await pack.packedOthers(around, own));
    for (const { key, bytes } of blobs.slice(1)) {
      const place = pack.find(key);
      assert.ok(place !== null && place !== "state");
      assert.deepEqual(all.subarray(place.start, place.end), bytes);
    }
    assert.equal(pack.find("state.json"), "state");
    assert.equal(pack.find("run.json"), null);
  });
  await fc.assert(property, { numRuns: 150 });
});

test("[K6] what earlier turns have of a state takes no room in the pack", async () => {
  const parts = Array.from({ length: 64 }, (_, index) => Buffer.from(noise(index)));
  const state = stateOf(parts);
  const stored = new Map(parts.map((bytes, index) => [`t${index}`, { id: index + 1, bytes }]));
  const around: PackSurroundings = { text: wordsOf("", ""), row: emptyPart, seed: null };
  const history = { key: "state.json", entries: state.entries };
  const packed = await packBlobs({ blobs: [{ key: "state.json", bytes: state.bytes }], history, stored }, around);
  assert.ok(packed.length < 900, `${packed.length} bytes for ${state.bytes.length}`);
});

test("[K6] a text, an id and a hash take room once, however often and in whatever form they stand in a part", async () => {
  const once = JSON.stringify({ id: values[0], hash: values[2], text: long });
  const around = { before: [], texts: inBothForms(long), values: [], seedValues: [] };
  const sizeOf = async (bytes: string): Promise<number> => (await packPart(Buffer.from(bytes), around)).packed.length;
  const [one, many] = [await sizeOf(once), await sizeOf(`${once}${JSON.stringify(once)}`.repeat(20))];
  assert.ok(one < 150, `${one} bytes`);
  assert.ok(many < one + 80, `${many} bytes, ${one} for one`);
});

test("[B3] a part that is read with another text, another earlier turn, or a flipped bit is an error, never other bytes", async () => {
  const bytes = Buffer.from(JSON.stringify({ id: values[0], hash: values[1], text: long }));
  const around = {
    before: [Buffer.from("before")],
    texts: inBothForms(long),
    values: [],
    seedValues: [values[1] ?? ""],
  };
  const { packed, part: written } = await packPart(bytes, around);
  assert.deepEqual(unpackPart(packed, around), written);
  const others = [
    { ...around, texts: inBothForms(long.replace("answer", "Answer")) },
    { ...around, seedValues: ["0".repeat(34)] },
    { ...around, seedValues: [] },
  ];
  for (const other of others) assert.throws(() => unpackPart(packed, other), { code: "storage_failed" });
  for (let at = 0; at < packed.length; at += 1) {
    const damaged = Buffer.from(packed);
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
    const read = readOrNull(damaged, around);
    if (read !== null) assert.deepEqual(read.bytes, bytes, `byte ${at}`);
  }
});

function readOrNull(packed: Buffer, around: Around): Part | null {
  try {
    return unpackPart(packed, around);
  } catch {
    return null;
  }
}

test("[B2] [D3] what an earlier version packed is read back byte for byte", async () => {
  const frame = (bytes: Buffer, ...before: Buffer[]): Buffer =>
    zstdCompressSync(bytes, { dictionary: Buffer.concat(before) });
  const [row, state, run] = ["a row", "[a state]", "a run"].map((bytes) => Buffer.from(bytes.repeat(9)));
  assert.ok(row && state && run);
  const seed = { state: oldPart("[a state]"), others: oldPart("a run") };
  const words = Buffer.from(`a question${long}`);
  const around = { text: wordsOf("a question", long), row: oldPart(row.toString()), seed };
  const stateFrame = frame(state, seed.state.bytes, words);
  // The version; the seed is used and there is a state; two blobs: the state and `run.json`; no references.
  const front = Buffer.from([
    1,
    3,
    2,
    3,
    state.length,
    2,
    run.length,
    ...varint(crc32(state)),
    1,
    7,
    0,
    stateFrame.length,
  ]);
  const whole = Buffer.concat([front, stateFrame, frame(run, seed.others.bytes, row, state)]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(crc32(whole));
  const pack = new BlobPack(Buffer.concat([whole, sum]));
  const own = pack.ownState(around);
  assert.deepEqual(pack.state(own.bytes, []), state);
  assert.deepEqual(pack.others(await pack.packedOthers(around, own)), run);
  const sealed = frame(row, seed.state.bytes, words);
  assert.deepEqual(unsealRow(sealed, { seed: seed.state, text: around.text }).bytes, row);
});

function oldPart(text: string): Part {
  return { bytes: Buffer.from(text), short: Buffer.from(text), values: [] };
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))];
}

function inBothForms(words: string): string[] {
  const once = JSON.stringify(words).slice(1, -1);
  return [once, JSON.stringify(once).slice(1, -1)];
}

/** Joins the entries as a state does. */
function stateOf(parts: readonly Buffer[]): {
  bytes: Buffer;
  entries: { turnId: string; start: number; end: number }[];
} {
  const pieces: Buffer[] = [Buffer.from("[")];
  const places = parts.map((bytes, index) => {
    if (index > 0) pieces.push(Buffer.from(","));
    const start = pieces.reduce((sum, { length }) => sum + length, 0);
    pieces.push(bytes);
    return { turnId: `t${index}`, start, end: start + bytes.length };
  });
  return { bytes: Buffer.concat([...pieces, Buffer.from("]")]), entries: places };
}

function noise(from: number): string {
  let state = from + 1;
  return Array.from({ length: 400 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return String.fromCharCode(33 + ((state >>> 20) % 90));
  }).join("");
}

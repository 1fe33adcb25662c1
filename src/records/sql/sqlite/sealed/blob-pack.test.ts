import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BlobPack, type PackSurroundings, type StoredEntry } from "./blob-pack.ts";
import { packBlobs } from "./pack-blobs.ts";

const piece = fc.string({ maxLength: 200 }).map((text) => Buffer.from(text));
const entries = fc.array(fc.record({ bytes: piece, kept: fc.constantFrom("here", "there", "there, but changed") }), {
  minLength: 1,
  maxLength: 20,
});
const turns = fc.record({
  parts: entries,
  more: fc.array(piece, { maxLength: 4 }),
  earlier: fc.option(fc.record({ state: piece, others: piece })),
  texts: piece,
});

test("[K6] [D3] a pack gives back every blob, whatever earlier turns have of its state", async () => {
  const property = fc.asyncProperty(turns, async ({ parts, more, earlier, texts }) => {
    const around: PackSurroundings = { texts, row: Buffer.from("row"), seed: earlier };
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
      own,
      pack.refs.map((id) => byId.get(id) ?? assert.fail()),
    );
    assert.deepEqual(whole, state.bytes);
    assert.deepEqual(Buffer.from(pack.ownEntry(own)), parts.at(-1)?.bytes);
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
  const around: PackSurroundings = { texts: Buffer.of(), row: Buffer.of(), seed: null };
  const history = { key: "state.json", entries: state.entries };
  const packed = await packBlobs({ blobs: [{ key: "state.json", bytes: state.bytes }], history, stored }, around);
  assert.ok(packed.length < 900, `${packed.length} bytes for ${state.bytes.length}`);
});

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

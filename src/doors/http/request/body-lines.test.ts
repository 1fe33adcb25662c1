/** Lines in request bodies, however their bytes are split, and lines as a response whose reader may leave. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hasCode } from "../../../../testing/refusals.ts";
import fc from "fast-check";
import { all } from "../../../../testing/engine.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { bodyOfLines, bodyLines } from "./body-lines.ts";

async function* pieces(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  for (const [index, place] of places.entries()) yield bytes.subarray(place, places[index + 1] ?? place);
}

const unexpected = (error: unknown): void => assert.fail(String(error));

const line = fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\n") && !text.startsWith("\ufeff"));

test("[H5] lines are the same wherever the body is split, with or without a last line break", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.array(fc.nat()), fc.boolean(), async (lines, cuts, isEnded) => {
      const text = lines.join("\n") + (isEnded && lines.length > 0 ? "\n" : "");
      const expected = !isEnded && lines.at(-1) === "" ? lines.slice(0, -1) : lines;
      assert.deepEqual(await all(bodyLines(pieces(Buffer.from(text), cuts), 10_000)), expected);
    }),
  );
});

test("[H5] a line over the limit is refused before it is complete, and one of exactly the limit is not", async () => {
  const read = (bytes: string, cuts: number[]) => all(bodyLines(pieces(Buffer.from(bytes), cuts), 10));
  assert.deepEqual(await read("0123456789\n0123456789", [3, 12]), ["0123456789", "0123456789"]);
  await assert.rejects(read("0\n01234567890\n", []), /line 2 /);
  let taken = 0;
  const endless = async function* () {
    for (;;) yield (((taken += 1), Buffer.from("abc")));
  };
  await assert.rejects(all(bodyLines(endless(), 10)), hasCode("body_too_large", /line 1 /));
  assert.equal(taken, 4);
});

test("[H3] bytes that are not UTF-8 are refused by the number of their line", async () => {
  const bytes = Buffer.concat([Buffer.from("a\nb"), Uint8Array.of(0xff), Buffer.from("\nc")]);
  await assert.rejects(all(bodyLines(pieces(bytes, []), 10)), hasCode("import_invalid", /line 2 /));
});

test("[H5] a response of lines is produced no faster than it is read, and ends with its reader", async () => {
  let given = 0;
  let isEnded = false;
  async function* lines(): AsyncGenerator<string> {
    try {
      for (;;) yield `line ${(given += 1)}`;
    } finally {
      isEnded = true;
    }
  }
  const reader = (await bodyOfLines(lines(), unexpected)).getReader();
  assert.equal(given, 1);
  for (const expected of ["line 1\n", "line 2\n"]) {
    assert.equal(Buffer.from((await reader.read()).value ?? []).toString(), expected);
  }
  assert.equal(given, 2);
  await reader.cancel();
  assert.equal(isEnded, true);
});

test("[H3] an error before the first line is a refusal; a later one breaks the response off, and is reported", async () => {
  async function* failing(count: number): AsyncGenerator<string> {
    for (let n = 0; n < count; n++) yield "line";
    throw new AptoveError("blob_missing", "gone");
  }
  await assert.rejects(bodyOfLines(failing(0), unexpected), /gone/);
  const faults: unknown[] = [];
  const reader = (await bodyOfLines(failing(1), (error) => faults.push(error))).getReader();
  assert.equal(Buffer.from((await reader.read()).value ?? []).toString(), "line\n");
  await assert.rejects(reader.read(), /gone/);
  assert.equal(faults.length, 1);
});

test("[R5] a client that leaves while a line is being read is no fault", async () => {
  const held = Promise.withResolvers<void>();
  let hasEnded = false;
  async function* lines(): AsyncGenerator<string> {
    try {
      yield "first";
      await held.promise;
      yield "second";
    } finally {
      hasEnded = true;
    }
  }
  const faults: unknown[] = [];
  const reader = (await bodyOfLines(lines(), (fault) => faults.push(fault))).getReader();
  assert.equal(new TextDecoder().decode((await reader.read()).value), "first\n");
  const reading = reader.read();
  const leaving = reader.cancel();
  held.resolve();
  await leaving;
  assert.equal((await reading).done, true);
  assert.deepEqual([faults, hasEnded], [[], true]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { foldEvents, unfoldEvents } from "./fold-events.ts";

/** A response as it stands in a run: a text in JSON. */
function inJson(text: string): Buffer {
  return Buffer.from(JSON.stringify({ responses: [{ step: 1, text }] }));
}

const words = fc.array(fc.string({ maxLength: 12 }), { minLength: 1, maxLength: 40 });
const shapes = fc.constantFrom(
  (word: string, at: number) =>
    `event: delta\ndata: ${JSON.stringify({ type: "delta", id: "msg_1", delta: word, sequence_number: at })}\n\n`,
  (word: string) =>
    `data: ${JSON.stringify({ id: "chatcmpl_1", created: 17, choices: [{ delta: { content: word } }] })}\n\n`,
  (word: string, at: number) => `data: ${JSON.stringify({ parts: [{ text: word }], tokens: at * 3 })}\r\n\r\n`,
  (word: string) => `${word}\n\n`,
);

test("[K6] [D3] folded events are the same bytes again, whatever a provider sends", () => {
  fc.assert(
    fc.property(words, shapes, fc.nat(1_000), (list, shape, from) => {
      const bytes = inJson(
        `event: created\n\n${list.map((word, at) => shape(word, from + at)).join("")}data: [DONE]\n\n`,
      );
      const folded = foldEvents(bytes);
      if (folded !== null) assert.deepEqual(unfoldEvents(folded), bytes);
    }),
    { numRuns: 400 },
  );
});

test("[K6] the events of a stream are folded to the pieces of its answer", () => {
  const list = "The head of a session moves only from the value that was last seen.".split(/(?<= )/);
  const stream = list.map(
    (delta, at) => `data: ${JSON.stringify({ type: "delta", item: "msg_1", delta, n: at + 4 })}\n\n`,
  );
  const bytes = inJson(stream.join(""));
  const folded = foldEvents(bytes) ?? assert.fail();
  assert.ok(folded.length < bytes.length / 3, `${folded.length} of ${bytes.length} bytes`);
  assert.ok(folded.includes(list.slice(1).join("")), "the pieces stand one after the other");
});

test("[B3] folded bytes that are cut are an error", () => {
  const stream = Array.from(
    { length: 12 },
    (_, at) => `data: ${JSON.stringify({ type: "delta", delta: `d${at % 3}`, n: at })}\n\n`,
  );
  const folded = foldEvents(inJson(stream.join(""))) ?? assert.fail();
  for (let end = 0; end < folded.length; end += 1) {
    assert.throws(() => unfoldEvents(folded.subarray(0, end)), { code: "storage_failed" });
  }
});

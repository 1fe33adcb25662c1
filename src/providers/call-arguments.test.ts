import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../testing/any-character.ts";
import { argumentsJson, argumentsObject, isObjectText, ObjectPieces, withoutTopChoices } from "./call-arguments.ts";

test("[C5] arguments keep every digit that was written, and are whole characters", () => {
  const text =
    '{"id":12345678901234567890,"price":1.0,"far":1e999,"deep":[{"n":-0}],"half":"\\ud83d","\\ud800":1,"__proto__":2}';
  assert.equal(
    JSON.stringify(argumentsObject(text)),
    '{"id":12345678901234567890,"price":1.0,"far":1e999,"deep":[{"n":-0}],"half":"\ufffd","\ufffd":1,"__proto__":2}',
  );
});

test("[T8] [P5] choices at the top of a schema are dropped with all their arguments kept, and those below stay", () => {
  const a = { anyOf: [{ type: "string" }, { type: "null" }] };
  const b = { type: "string" };
  const properties = { a, b };
  const besides = {
    type: "object",
    properties,
    anyOf: [{ required: ["a"] }, { required: ["b"] }],
    not: {},
    enum: [{}],
  };
  assert.deepEqual(withoutTopChoices(besides), { type: "object", properties });
  const within = { type: "object", oneOf: [{ properties: { a }, required: ["a"] }, { properties: { b } }, true] };
  assert.deepEqual(withoutTopChoices(within), { type: "object", properties });
  const plain = { type: "object", properties };
  assert.equal(withoutTopChoices(plain), plain);
});

test("[C5] arguments that are not an object go under a name; an empty text means no arguments", () => {
  for (const text of ['{"a":', "[1]", '"a"', "7", "1.0", "null", "text"]) {
    assert.deepEqual(argumentsObject(text), { invalid_arguments: text });
    assert.equal(argumentsJson(text), JSON.stringify({ invalid_arguments: text }));
    assert.ok(!isObjectText(text));
  }
  for (const text of ["", " \n"]) assert.deepEqual(argumentsObject(text), {});
});

test("[C5] any object comes out as the value that went in", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue({ stringUnit: anyCharacter })), (value) => {
      const text = JSON.stringify(value);
      assert.deepEqual(JSON.parse(JSON.stringify(argumentsObject(text))), JSON.parse(text));
      assert.equal(argumentsJson(text), text);
    }),
  );
});

/** Texts that look like JSON, whole and broken, with what ends an object also inside of texts. */
const almostJson = fc.oneof(
  fc
    .array(fc.constantFrom("{", "}", "[", "]", '"', "\\", " ", "a", "1", ":", ","), { maxLength: 12 })
    .map((each) => each.join("")),
  fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
  fc.dictionary(fc.string(), fc.jsonValue()).map((value) => `${JSON.stringify(value, null, 1)}\n`),
);

test("[T8] after each piece it is known whether the arguments so far are an object, however the pieces are cut", () => {
  fc.assert(
    fc.property(almostJson, fc.integer({ min: 1, max: 4 }), (text, length) => {
      const pieces = new ObjectPieces();
      for (let at = 0; at < text.length; at += length) {
        pieces.add(text.slice(at, at + length));
        assert.equal(pieces.text, text.slice(0, at + length));
        assert.equal(pieces.isWhole, isObjectText(pieces.text), pieces.text);
      }
    }),
  );
});

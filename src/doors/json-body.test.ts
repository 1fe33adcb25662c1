import assert from "node:assert/strict";
import { test } from "node:test";
import { thrownBy } from "../../testing/refusals.ts";
import fc from "fast-check";
import { jsonFaultAt, parseJson } from "./json-body.ts";

const cases: [text: string, position: number][] = [
  ["", 0],
  ["   ", 3],
  ["hello", 0],
  ["{", 1],
  ['{"a":1,}', 7],
  ['{"a" 1}', 5],
  ['{"a":1 "b":2}', 7],
  ['{"a":[1 2]}', 8],
  ["[1,]", 3],
  ["[1]]", 3],
  ["{}{}", 2],
  ["[01]", 1],
  ["[1.]", 1],
  ["[truex]", 1],
  ["{a:1}", 1],
  ['{"a":}', 5],
  ["[}", 1],
  ['"abc', 4],
  ['"a\nb"', 2],
  ['"a\\x"', 2],
  ['{"a":1}\n]', 8],
  ["'a'", 0],
  ["\ufeff{}", 0],
];

for (const [text, position] of cases) {
  test(`${JSON.stringify(text)} stops being JSON at ${position}`, () => {
    assert.equal(jsonFaultAt(text), position);
  });
}

test("[H3] invalid JSON is refused with the line and the column", () => {
  const { code, detail, facts } = thrownBy(() => parseJson('{\n  "a": 1,\n}', "the body"));
  assert.equal(code, "request_invalid");
  assert.equal(detail, 'the body is not JSON: unexpected "}" at position 12 (line 3 column 1)');
  assert.equal(facts["position"], 12);
  assert.throws(() => parseJson('{"a":', "the body"), /it ends too early at position 5/);
});

test("[H5] the depth of nesting is limited, and no depth crashes the process", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assert.deepEqual(parseJson(nested(100), "the body"), JSON.parse(nested(100)));
  assert.throws(() => parseJson(nested(101), "the body"), /nested deeper than 100 levels/);
  assert.throws(() => parseJson(nested(2_000_000), "the body"), /nested deeper/);
  assert.throws(() => parseJson("[".repeat(2_000_000), "the body"), /it ends too early at position 2000000/);
});

test("a fault is found exactly where a text is broken off, and never in a text that is JSON", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (text, cut) => {
      const prefix = text.slice(0, cut % (text.length + 1));
      let isJson = true;
      try {
        JSON.parse(prefix);
      } catch {
        isJson = false;
      }
      if (!isJson && !/[\w.+-]$/.test(prefix)) assert.equal(jsonFaultAt(prefix), prefix.length);
      if (isJson) assert.deepEqual(parseJson(prefix, "it"), JSON.parse(prefix));
    }),
  );
});

test("a character inserted into JSON that makes it invalid is found, never before the token that contains it", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (text, at) => {
      const place = at % (text.length + 1);
      const broken = `${text.slice(0, place)}\u0001${text.slice(place)}`;
      const position = jsonFaultAt(broken);
      assert.ok(position <= place, `${position} is after ${place} in ${JSON.stringify(broken)}`);
      assert.ok(/^["\\\w.+-]*$/.test(broken.slice(position, place)), JSON.stringify([broken, position, place]));
    }),
  );
});

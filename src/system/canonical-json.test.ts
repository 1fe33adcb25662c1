import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { canonicalJson } from "./canonical-json.ts";

test("the order of fields has no effect at any level", () => {
  const expected = `{"a":[{"x":1,"y":null},null],"b":"é","ü":{"c":true}}`;
  assert.equal(canonicalJson({ b: "é", ü: { c: true }, a: [{ y: null, x: 1 }, null] }), expected);
  assert.equal(canonicalJson({ a: [{ x: 1, y: null }, null], ü: { c: true }, b: "é" }), expected);
});

test("values that JSON does not have are left out, and null only on request", () => {
  const value = { a: undefined, b: null, c: [undefined, null, Number.NaN], d: new Date(0) };
  assert.equal(canonicalJson(value), `{"b":null,"c":[null,null,null],"d":"1970-01-01T00:00:00.000Z"}`);
  assert.equal(canonicalJson({ a: null, b: [null, { c: null }] }, { leavesOutNull: true }), `{"b":[null,{}]}`);
});

test("keys that are numbers come first, in numeric order; stored digests depend on it", () => {
  assert.equal(canonicalJson({ a: 1, "10": 2, "2": 3, "-1": 4 }), `{"2":3,"10":2,"-1":4,"a":1}`);
});

test("keys are compared by code units, and numbers are written as JSON writes them", () => {
  assert.equal(canonicalJson({ "😀": 1, "\uffff": 2, B: 1e21, a: -0 }), `{"B":1e+21,"a":0,"😀":1,"\uffff":2}`);
  assert.equal(canonicalJson({ "\ud800": "\udfff" }), `{"\\ud800":"\\udfff"}`);
});

/** The same, as a sorted copy that JSON.stringify writes. */
function naive(value: unknown, leavesOutNull: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => naive(item, leavesOutNull));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, content]) => !leavesOutNull || content !== null);
  return Object.fromEntries(
    fields.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, content]) => [name, naive(content, leavesOutNull)]),
  );
}

test("[D2] any value has the text of its sorted copy, whatever its fields are named", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue({ noUnicodeString: false })), fc.boolean(), (value, leavesOutNull) => {
      const plain: unknown = JSON.parse(JSON.stringify(value));
      assert.equal(canonicalJson(value, { leavesOutNull }), JSON.stringify(naive(plain, leavesOutNull)));
    }),
    { examples: [[[{ 10: 1, 2: 2, "02": 3, a: null, "": [null, { __proto__: null }], ":": 1, "/": "\ud800" }], true]] },
  );
});

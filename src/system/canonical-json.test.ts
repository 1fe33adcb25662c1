import assert from "node:assert/strict";
import { test } from "node:test";
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

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { fullJson, leanJson } from "./lean-json.ts";

const defaults = { none: null, list: [], empty: {}, nested: { zero: 0, name: "default" } };

test("[B1] lean JSON omits fields that have their default, and contains every other field", () => {
  assert.equal(leanJson({ a: 1, ...defaults }, defaults), '{"a":1}');
  const stated = { none: 0, list: [null], empty: { a: null }, nested: { zero: null, name: "default", other: [] } };
  const text = '{"none":0,"list":[null],"empty":{"a":null},"nested":{"zero":null,"other":[]}}';
  assert.equal(leanJson(stated, defaults), text);
  assert.deepEqual(fullJson(text, defaults), stated);
});

test("[B1] an omitted value is restored as a new object", () => {
  const first = fullJson("{}", defaults);
  (first["list"] as unknown[]).push(1);
  assert.deepEqual(fullJson("{}", defaults), defaults);
});

test("[B1] lean JSON of any object that has the template's fields reads back unchanged", () => {
  const content = fc.oneof(fc.constantFrom(...Object.values(defaults), 0, "default"), fc.jsonValue());
  const record = fc.record({
    none: content,
    list: content,
    empty: content,
    nested: fc.record({ zero: content, name: content, more: content }),
    other: content,
  });
  fc.assert(
    fc.property(record, (value) => {
      // JSON has no -0.
      const plain = JSON.parse(JSON.stringify(value)) as object;
      assert.deepEqual(fullJson(leanJson(plain, defaults), defaults), plain);
    }),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { fullJson, leanJson, type DefaultsOf } from "./lean-json.ts";

const defaults = { none: null, list: [], empty: {}, nested: { zero: 0, name: "default" } };

test("[B1] lean JSON omits fields that have their default, and contains every other field", () => {
  assert.equal(leanJson({ a: 1, ...defaults }, defaults), '{"a":1}');
  const stated = { none: 0, list: [null], empty: { a: null }, nested: { zero: null, name: "default", other: [] } };
  const text = '{"none":0,"list":[null],"empty":{"a":null},"nested":{"zero":null,"other":[]}}';
  assert.equal(leanJson(stated, defaults), text);
  assert.deepEqual(fullJson(text, defaults), stated);
});

test("[B1] an omitted value is restored as a new object", () => {
  const first = fullJson<{ list: unknown[] }>("{}", defaults);
  first.list.push(1);
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

test("[B1] a field that the rows of an older build do not have needs a default, or does not compile", () => {
  interface Kept {
    old: string;
    nested: { old: string; more: number[] };
    optional?: string;
    added: string | null;
  }
  const whole: DefaultsOf<Kept, "old"> = { nested: { more: [] }, added: null };
  assert.deepEqual(fullJson<Kept>('{"old":"a","nested":{"old":"b"}}', whole), {
    old: "a",
    nested: { old: "b", more: [] },
    added: null,
  });
  type Needed = keyof DefaultsOf<Kept, "old">;
  const needed: Record<Needed, true> = { nested: true, added: true };
  assert.deepEqual(Object.keys(needed), Object.keys(whole));
});

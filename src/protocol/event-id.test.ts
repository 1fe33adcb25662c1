import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatEventId, parseEventId } from "./event-id.ts";

test("[V2] parsing an event id returns its turn and its number", () => {
  fc.assert(
    fc.property(fc.uuid({ version: 7 }), fc.integer({ min: 1, max: 10 ** 12 }), (turnId, seq) => {
      assert.deepEqual(parseEventId(formatEventId({ turnId, seq })), { turnId, seq });
    }),
  );
});

test("[V2] a text that is not an event id is refused", () => {
  const turnId = "01900000-0000-7000-8000-000000000000";
  for (const text of [
    "",
    "1",
    `${turnId}`,
    `${turnId}:`,
    `${turnId}:0`,
    `${turnId}:01`,
    `${turnId}:-1`,
    `${turnId}:1 `,
  ]) {
    assert.equal(parseEventId(text), null, text);
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      const id = parseEventId(text);
      if (id !== null) assert.equal(formatEventId(id), text);
    }),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { isoTime } from "./ids.ts";

test("[S7] a stored time that no list could write counts as the nearest that has the form, so that its row hides no others", () => {
  assert.equal(isoTime(0), "1970-01-01T00:00:00.000Z");
  assert.equal(isoTime(253_402_300_799_999), "9999-12-31T23:59:59.999Z");
  for (const late of [253_402_300_800_000, 8_640_000_000_000_001, 9_000_000_000_000_000, Infinity]) {
    assert.equal(isoTime(late), "9999-12-31T23:59:59.999Z");
  }
  for (const early of [-62_167_219_200_001, -9_000_000_000_000_000]) {
    assert.equal(isoTime(early), "0000-01-01T00:00:00.000Z");
  }
});

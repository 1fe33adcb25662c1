import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "../failure.ts";
import { writtenTime } from "./written-time.ts";

test("[L1] a written time is a day that exists, with or without a time", () => {
  assert.equal(writtenTime("--since", "2026-11-23"), "2026-11-23T00:00:00.000Z");
  assert.equal(writtenTime("--since", "2028-02-29"), "2028-02-29T00:00:00.000Z");
  assert.equal(writtenTime("--since", "2026-11-23T10:30:00+01:00"), "2026-11-23T09:30:00.000Z");
  const refused = ["2027-02-30", "2027-02-29", "2026-04-31T10:00Z", "2026-00-10", "2026-13-01", "2026-11-23 junk"];
  for (const text of [...refused, "then", "turn 5", ""]) {
    assert.throws(() => writtenTime("--since", text), UsageError, text);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { spokenTime } from "./spoken-time.ts";

test("[C7] a time has the largest unit that keeps it exact enough, rounded up", () => {
  const cases: [ms: number, text: string][] = [
    [0, "0 s"],
    [40, "40 ms"],
    [1_001, "2 s"],
    [119_000, "119 s"],
    [240_000, "4 minutes"],
    [240_001, "5 minutes"],
    [3_600_000, "60 minutes"],
    [7_200_000, "2 hours"],
  ];
  for (const [ms, text] of cases) assert.equal(spokenTime(ms), text);
});

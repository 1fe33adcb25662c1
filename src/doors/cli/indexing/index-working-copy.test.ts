import assert from "node:assert/strict";
import { test } from "node:test";
import { summaryLines } from "./index-working-copy.ts";

test("[L1] the summary of an index names some skipped files for each reason, and no endless line", () => {
  const long = (n: number): string => `${"folder/".repeat(12)}file-${n}.bin`;
  const lines = summaryLines({
    repo: "shop",
    commit: null,
    filesTotal: 1_400,
    filesChanged: 1_400,
    filesRemoved: 0,
    chunksTotal: 5_000,
    chunksWritten: 5_000,
    bytesRead: 2_048,
    durationMs: 10,
    skipped: [
      ...[1, 2, 3].map((n) => ({ path: long(n), reason: "binary" as const })),
      ...["a.lock", "b.lock"].map((path) => ({ path, reason: "lock_file" as const })),
    ],
  });
  assert.deepEqual(lines.slice(1), [
    "1,400 changed, 0 removed, 5,000 chunks written, 2.0 KB read in 10 ms",
    `skipped, binary: ${long(1)} and 2 more`,
    "skipped, lock file: a.lock, b.lock",
  ]);
});

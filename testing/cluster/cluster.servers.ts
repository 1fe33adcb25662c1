import assert from "node:assert/strict";
import { test } from "node:test";
import { runCluster } from "./run.ts";

/** The time limit: a fault may last longer than the leases, and everything is read afterwards. */
const timeout = 300_000;

test(
  "[B3] [R1] [R2] [T5] [T13] [V2] [V4] [A2] [H4] servers are killed, paused, cut off and deployed anew, and no promise is broken",
  {
    timeout,
  },
  async (t) => {
    const { violations, checked } = await runCluster({
      seed: 5,
      seconds: 20,
      people: 6,
      servers: 3,
      faults: ["kill", "pause", "partition", "stall", "drain", "redis-kill"],
      s3: true,
      redis: true,
      say: (line) => t.diagnostic(line),
      signal: t.signal,
    });
    assert.deepEqual(violations, []);
    // A run that did nothing would prove nothing.
    assert.ok(checked.answered > 20 && checked.splits > 50, JSON.stringify(checked));
  },
);

import assert from "node:assert/strict";
import { test } from "node:test";
import { faultKinds } from "./nemesis.ts";
import { runCluster } from "./run.ts";

/** The time limit: a fault may last longer than the leases, and everything is read afterwards. */
const timeout = 420_000;

test(
  "[B3] [R1] [R2] [T5] [T11] [T13] [V2] [V4] [A2] [H4] servers and stores have every kind of fault, and no promise is broken",
  {
    timeout,
  },
  async (t) => {
    const { violations, faults } = await runCluster({
      seed: 5,
      seconds: 20,
      people: 6,
      servers: 3,
      faults: faultKinds,
      s3: true,
      redis: true,
      say: (line) => t.diagnostic(line),
      signal: t.signal,
    });
    assert.deepEqual(violations, []);
    // How much was done depends on the machine. Which faults occurred does not.
    const healed = faults.filter(({ healedAt }) => healedAt !== null).map(({ what }) => what);
    assert.deepEqual([...new Set(healed)].toSorted(), faultKinds.toSorted());
  },
);

import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateMailbox } from "./simulate-mailbox.ts";
import { simulate } from "./simulate.ts";
import type { StoreKind } from "./stores.ts";

/**
 * Random commands on real engines, with crashes, full disks, sleeping processes and providers that fail; after each
 * step, and whenever the world is at rest, everything is compared with a naive model. `npm run simulate` does it for
 * longer, and prints the seed of what it finds, which then is kept here.
 */
const runs: readonly { stores: StoreKind; seed: number; steps: number }[] = [
  { stores: "memory", seed: 1, steps: 150 },
  { stores: "memory", seed: 2, steps: 150 },
  { stores: "embedded", seed: 1, steps: 100 },
  { stores: "files", seed: 928338329, steps: 100 },
  { stores: "memory", seed: 1499510896, steps: 64 },
  { stores: "memory", seed: 381048400, steps: 37 },
  { stores: "memory", seed: 2131022878, steps: 116 },
  { stores: "memory", seed: 1419475598, steps: 150 },
];

const rules = "[S5] [S6] [T1] [T2] [T5] [T6] [T7] [T8] [T9] [T10] [T11] [T12] [T13] [V2] [V4] [V5] [B1] [B3]";
const moreRules = "[C1] [C3] [C5] [C6] [D2] [D3] [E2] [H4] [K2] [K4] [R1] [R2] [R3] [R4] [R5]";

for (const { stores, seed, steps } of runs) {
  test(`${rules} ${moreRules} ${steps} random steps on ${stores}, seed ${seed}`, async () => {
    await simulate({ seed, steps, stores });
  });
}

for (const { stores, seed, steps } of [
  { stores: "memory", seed: 1, steps: 150 },
  { stores: "embedded", seed: 3, steps: 80 },
] as const) {
  test(`[A1] [A2] [R2] ${steps} random steps with subagents on ${stores}, seed ${seed}: each answer is delivered once`, async () => {
    const { delivered } = await simulateMailbox({ seed, steps, stores });
    assert.ok(delivered > 0);
  });
}

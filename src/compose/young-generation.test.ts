import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { TurnBegun, TurnEnded } from "../telemetry/observer.ts";
import { packageFolder } from "../version.ts";
import { youngGenerationGrowth } from "./young-generation.ts";

const begun = {} as TurnBegun;
const ended = {} as TurnEnded;
const nodeArguments = ["--min-semi-space-size=2", "--max-semi-space-size=8", "--memory-reducer-delay-ms=60000"];

function growth() {
  const factors: number[] = [];
  const clock = { now: 1_000_000 };
  const setGrowthFactor = (factor: number): void => void factors.push(factor);
  const { turn } = youngGenerationGrowth({
    nodeArguments,
    words: ["--json", "serve"],
    setGrowthFactor,
    now: () => clock.now,
  });
  assert.ok(turn);
  return { factors, clock, begin: () => turn(begun) };
}

test("[R5] the young generation may grow while eight turns run at once, and no longer than that", () => {
  const { factors, begin } = growth();
  const turns = Array.from({ length: 7 }, begin);
  assert.deepEqual(factors, [1]);
  turns.push(begin(), begin());
  assert.deepEqual(factors, [1, 4]);
  for (const turn of turns) turn.end(ended);
  assert.deepEqual(factors, [1, 4, 1]);
});

test("[R5] a server that stays busy may grow again after the growth was stopped to keep the compiled code", () => {
  const { factors, clock, begin } = growth();
  Array.from({ length: 8 }, begin);
  clock.now += 10_000;
  begin();
  assert.deepEqual(factors, [1, 4, 4]);
});

test("[R5] the young generation may grow if fifty turns follow one another within ten seconds, but not for fifty in an hour", () => {
  const quick = growth();
  for (let n = 0; n < 50; n += 1) quick.begin().end(ended);
  assert.deepEqual(quick.factors, [1, 4]);
  quick.clock.now += 10_000;
  quick.begin().end(ended);
  assert.deepEqual(quick.factors, [1, 4, 1]);
  const slow = growth();
  for (let n = 0; n < 50; n += 1) {
    slow.begin().end(ended);
    slow.clock.now += 72_000;
  }
  assert.deepEqual(slow.factors, [1]);
});

test("[R5] V8 is left as it is where bin/aptove did not choose the sizes, or did not stop the growth at the start", () => {
  const setGrowthFactor = (): void => assert.fail("it was set");
  const others = [
    { nodeArguments: ["--enable-source-maps"], words: ["serve"] },
    { nodeArguments, words: ["--json", "ask"] },
  ];
  for (const started of others) assert.deepEqual(youngGenerationGrowth({ ...started, setGrowthFactor }), {});
});

test("[R5] V8 follows the factor that a running process sets, with the settings that both starters give it", () => {
  const flags = ["aptove", "aptove.mjs"].map((name) =>
    readFileSync(join(packageFolder(), "bin", name), "utf8").match(/--[a-z-]+=\d+/g),
  );
  assert.deepEqual(flags, [nodeArguments, nodeArguments]);
  const run = readFileSync(join(packageFolder(), "bin", "run.cjs"), "utf8");
  assert.match(run, /argv\.slice\(2\)\.some\(\(word\) => \["acp", "serve", "start"\]\.includes\(word\)\)/);
  const script = `
    const v8 = require("node:v8");
    const sizeAfterSurvivors = (factor) => {
      v8.setFlagsFromString("--semi-space-growth-factor=" + factor);
      const survivors = [];
      for (let n = 0; n < 400_000; n += 1) survivors.push({ n });
      return v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space").space_size;
    };
    console.log(JSON.stringify([1, 4].map(sizeAfterSurvivors)));`;
  const [small = 0, large = 0] = JSON.parse(
    execFileSync(process.execPath, [...nodeArguments, "-e", script], { encoding: "utf8" }),
  ) as number[];
  assert.ok(small <= 5e6, `${small} bytes, though it may not grow`);
  assert.ok(large >= 8e6, `${large} bytes, though it may grow`);
});

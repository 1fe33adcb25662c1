import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, all, testEngine, testParts, untilEvent } from "../../../../testing/engine.ts";
import type { TurnEvent } from "../../../domain/events.ts";
import { newId } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import { noUsage } from "../../../domain/usage.ts";
import { endOfRound } from "../../../system/rounds.ts";
import { operatorLog } from "../../../telemetry/log/operator-log.ts";
import { observers } from "../../../telemetry/observer.ts";
import { engineCore } from "./engine-core.ts";
import { eventsOf } from "./turn-events.ts";

test("[R1] [V2] a process that was paused for longer than its lease shows no event that it still had at hand", async (t) => {
  const time = { passed: 0 };
  const held = Promise.withResolvers<void>();
  const { start, engine } = await testEngine(t, {
    monotonic: () => time.passed,
    script: () => [{ says: ["a ", "b ", "c ", held.promise] }],
  });
  const turn = await start("go");
  let shown = "";
  for await (const { event } of turn.events()) {
    if (event.type === "text_delta") shown += event.delta;
    if (shown === "a b c ") break;
  }
  const late = (await engine.turns.events(alice, turn.turnId, { afterSeq: 0 }))[Symbol.asyncIterator]();
  assert.equal((await late.next()).value?.event.type, "run_started");
  time.passed += limits.leaseMs;
  await assert.rejects(late.next(), { code: "runner_lost" });
  held.resolve();
});

test("[R1] [V2] a lease that is not renewed because the end was just stored breaks no stream", async () => {
  const core = engineCore(testParts());
  const turnId = newId();
  const live = core.live.begin({ turnId, sessionId: turnId, visibleBy: turnId, startedBy: alice.userId });
  const first: TurnEvent = { type: "run_started", sessionId: turnId, turnId, parentTurnId: null };
  const failure = { code: "interrupted", message: "stopped", retryable: false } as const;
  const last: TurnEvent = { type: "run_failed", failure, usage: noUsage };
  await core.deps.log.append(turnId, [first]);
  const events = eventsOf(core, turnId, { afterSeq: 0, signal: undefined });
  assert.equal((await events.next()).value?.event.type, "run_started");
  const next = events.next();
  await endOfRound();
  live.settle();
  live.lose();
  await endOfRound();
  live.store([first, last]);
  assert.deepEqual((await next).value, { seq: 2, event: last });
  core.live.end(live);
});

test("[R1] [H3] the line about a turn that lost its lease has the ids of this turn, also if another turn found it", async (t) => {
  const time = { passed: 0 };
  const lines: string[] = [];
  const log = operatorLog({
    format: "json",
    level: "warn",
    write: (line) => void lines.push(line),
    secrets: [],
    now: () => 0,
  });
  const held = Promise.withResolvers<void>();
  const { start, engine } = await testEngine(t, {
    monotonic: () => time.passed,
    script: () => [{ says: ["a", held.promise] }],
    report: log.report,
    observer: observers([log.observer]),
  });
  const turns = await Promise.all(["one", "two"].map((instruction) => start(instruction)));
  for (const turn of turns) await untilEvent(turn, "text_delta");
  time.passed += limits.leaseMs;
  // A reader finds both, within the activity of a turn that is neither.
  const begun = { turnId: newId(), sessionId: newId(), provider: "scripted", model: "", caller: alice };
  const other = log.observer.turn?.(begun);
  await other?.within(async () => {
    for (const { turnId } of turns) {
      await assert.rejects(all(await engine.turns.events(alice, turnId, { afterSeq: 0 })), { code: "runner_lost" });
    }
  });
  const parsed = lines.map((line) => JSON.parse(line) as Record<string, string>);
  const stopped = parsed.filter(({ message }) => message?.includes("is stopped"));
  assert.deepEqual(
    stopped.map(({ turnId, sessionId }) => ({ turnId, sessionId })),
    turns.map(({ turnId, sessionId }) => ({ turnId, sessionId })),
  );
  held.resolve();
});

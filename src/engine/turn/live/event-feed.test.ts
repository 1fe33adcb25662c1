import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testParts } from "../../../../testing/engine.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { SequencedEvent, TurnEvent } from "../../../domain/events.ts";
import { newId } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import type { EventLog } from "../../../live/event-log.ts";
import { endOfRound } from "../../../system/rounds.ts";
import { engineCore } from "./engine-core.ts";
import { RunRecorder } from "./run-recorder.ts";
import { eventsOf } from "./turn-events.ts";

const started: TurnEvent = { type: "step_started", step: 1 };
const numbered = (seq: number): TurnEvent => ({ type: "steered", text: `${seq}` });

/** Begins a turn that runs here, with a listener to its events. `append` is that of its log. */
function runningTurn({
  append,
  monotonic = () => 0,
}: Partial<Pick<EventLog, "append">> & { monotonic?: () => number } = {}) {
  const parts = testParts();
  const log: EventLog = {
    ...parts.log,
    read: (...of) => parts.log.read(...of),
    append: append ?? ((...of) => parts.log.append(...of)),
  };
  const core = engineCore({ ...parts, log, monotonic });
  const turnId = newId();
  const live = core.live.begin({ turnId, sessionId: turnId, visibleBy: turnId, startedBy: alice.userId });
  live.leaseUntil = limits.leaseMs;
  const faults: string[] = [];
  const recorder = new RunRecorder({
    turnId,
    log,
    mayWrite: () => true,
    onAppended: (events) => live.addedEvents(events),
    onLogFailure: ({ code }) => faults.push(code),
  });
  const events = eventsOf(core, turnId, { afterSeq: 0, signal: undefined });
  const next = async (): Promise<SequencedEvent | undefined> =>
    (await events.next()).value as SequencedEvent | undefined;
  return { core, live, recorder, next, log: parts.log, faults };
}

test("[V2] [R5] a listener gets each event once, whether it waits for it or comes late", async () => {
  const { live, recorder, next, core } = runningTurn();
  const got: (number | undefined)[] = [];
  const take = async (waiting = next()): Promise<void> => void got.push((await waiting)?.seq);
  const emit = async (...seqs: number[]): Promise<void> => {
    for (const seq of seqs) recorder.emit(numbered(seq));
    await recorder.flushed();
  };
  await emit(1);
  await take();
  // It waits for the next one.
  const second = next();
  await endOfRound();
  await emit(2, 3);
  await take(second);
  // It has two to take, and more come meanwhile.
  await emit(4);
  await take();
  await emit(5);
  await take();
  await take();
  // The last ones come, and the turn ends, before it asks again.
  await emit(6);
  live.settle();
  live.store([1, 2, 3, 4, 5, 6].map(numbered));
  await take();
  await take();
  assert.deepEqual(got, [1, 2, 3, 4, 5, 6, undefined]);
  core.live.end(live);
});

test("[R1] [V2] an event that comes while the lease ends is not shown, not even to a listener that waits for it", async () => {
  const time = { passed: 0, afterAppend: 0 };
  const { recorder, next, core, live, log } = runningTurn({
    monotonic: () => time.passed,
    append: async (...of) => {
      await log.append(...of);
      time.passed = time.afterAppend;
    },
  });
  recorder.emit(started);
  assert.equal((await next())?.seq, 1);
  const waiting = next();
  await endOfRound();
  time.afterAppend = limits.leaseMs;
  recorder.emit(numbered(2));
  await assert.rejects(waiting, { code: "runner_lost" });
  core.live.end(live);
});

test("[R2] [V2] an event that the log refused is shown once it is stored, and not before", async () => {
  let appends = 0;
  const { recorder, next, core, live, log, faults } = runningTurn({
    append: async (...of) => {
      appends += 1;
      if (appends > 1) throw new AptoveError("storage_full", "no room");
      await log.append(...of);
    },
  });
  recorder.emit(started);
  assert.equal((await next())?.seq, 1);
  let shown = false;
  const waiting = next().finally(() => (shown = true));
  await endOfRound();
  recorder.emit(numbered(2));
  await recorder.flushed();
  for (let round = 0; round < 5; round += 1) await endOfRound();
  assert.deepEqual([shown, faults], [false, ["storage_full"]]);
  live.settle();
  live.store([started, numbered(2)]);
  assert.deepEqual(await waiting, { seq: 2, event: numbered(2) });
  core.live.end(live);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { failure } from "../../../domain/errors.ts";
import {
  hasLostLease,
  keepsSessionBusy,
  isOver,
  toClosed,
  toLost,
  toRunning,
  toSettling,
  toStored,
  toUnwritten,
  type LiveTurnState,
  type RunningState,
} from "./live-turn.ts";
import { LiveTurns } from "./live-turns.ts";
import { SteerQueue } from "./steer-queue.ts";

const reason = failure("storage_full", "no room");
/** The state alone is looked at; the run that it belongs to is not used. */
const run: RunningState = { name: "running", accepted: never(), recorder: never(), subagentsBegun: 0 };

function never<T>(): T {
  return Object.create(null);
}

const states = {
  preparing: { name: "preparing", visibleBy: "s" },
  running: run,
  lost: { name: "lost" },
  settling: { name: "settling", wasLost: false },
  "settling, lost": { name: "settling", wasLost: true },
  stored: { name: "stored", events: [] },
  unwritten: { name: "unwritten", reason },
  closed: { name: "closed", wasLost: false },
  "closed, lost": { name: "closed", wasLost: true },
} satisfies Record<string, LiveTurnState>;

function shown(state: LiveTurnState): string {
  return "wasLost" in state && state.wasLost ? `${state.name}, lost` : state.name;
}

/** What each way leads to, in the order of `states`. */
const ways: Record<string, [(state: LiveTurnState) => LiveTurnState, string[]]> = {
  run: [
    (state) => toRunning(state, run),
    ["running", "running", "lost", "settling", "settling, lost", "stored", "unwritten", "closed", "closed, lost"],
  ],
  lose: [
    toLost,
    ["lost", "lost", "lost", "settling, lost", "settling, lost", "stored", "closed, lost", "closed", "closed, lost"],
  ],
  settle: [
    toSettling,
    [
      "settling",
      "settling",
      "settling, lost",
      "settling",
      "settling, lost",
      "stored",
      "unwritten",
      "closed",
      "closed, lost",
    ],
  ],
  store: [(state) => toStored(state, []), Array.from({ length: 9 }, () => "stored")],
  "leave unwritten": [
    (state) => toUnwritten(state, reason),
    [
      "unwritten",
      "unwritten",
      "closed, lost",
      "unwritten",
      "closed, lost",
      "stored",
      "unwritten",
      "unwritten",
      "closed, lost",
    ],
  ],
  close: [
    toClosed,
    ["closed", "closed", "closed, lost", "closed", "closed, lost", "stored", "unwritten", "closed", "closed, lost"],
  ],
};

for (const [name, [way, expected]] of Object.entries(ways)) {
  test(`[R1] [T11] what becomes of a live turn in each state: ${name}`, () => {
    assert.deepEqual(
      Object.values(states).map((state) => shown(way(state))),
      expected,
    );
  });
}

test("[T5] [R1] each state tells whether its session is busy, its listeners are released, and its lease is lost", () => {
  const which = (is: (state: LiveTurnState) => boolean): string[] =>
    Object.entries(states).flatMap(([name, state]) => (is(state) ? [name] : []));
  assert.deepEqual(which(keepsSessionBusy), [
    "preparing",
    "running",
    "lost",
    "settling",
    "settling, lost",
    "unwritten",
  ]);
  assert.deepEqual(which(isOver), ["lost", "stored", "unwritten", "closed", "closed, lost"]);
  assert.deepEqual(which(hasLostLease), ["lost", "settling, lost", "closed, lost"]);
});

test("[T11] [V2] states that cannot be do not type-check", () => {
  const impossible: LiveTurnState[] = [
    // @ts-expect-error a stored turn has its events
    { name: "stored" },
    // @ts-expect-error an end that could not be written has a reason
    { name: "unwritten" },
    // @ts-expect-error a turn that is being prepared has no events
    { name: "preparing", visibleBy: "s", events: [] },
    // @ts-expect-error a lost turn has no run that could begin something
    { name: "lost", accepted: never(), recorder: never(), subagentsBegun: 0 },
    // @ts-expect-error an end that is in the store was written
    { name: "stored", events: [], reason },
  ];
  const state: LiveTurnState = impossible[0] ?? states.lost;
  // @ts-expect-error only a running turn has a recorder
  assert.ok(impossible.length === 5 && state.recorder === undefined);
});

test("[R3] [R4] what waits for a state is woken by it, and by the end of the turn", async () => {
  const turns = new LiveTurns();
  const live = turns.begin({ turnId: "t", sessionId: "s", visibleBy: "s", startedBy: "u" });
  const received: string[] = [];
  const opened = live.until(() => live.state.name !== "preparing").then(() => received.push("opened"));
  const ended = turns.untilAllEnded().then(() => received.push("ended"));
  assert.equal(turns.ofSession("s"), live);
  live.run(run);
  await opened;
  live.settle();
  live.store([]);
  assert.equal(turns.ofSession("s"), undefined, "the session is free before the turn has left");
  assert.equal(turns.count, 1);
  turns.end(live);
  await ended;
  assert.deepEqual(received, ["opened", "ended"]);
});

test("[T13] a turn that is refused before it was open wakes what waits for it, and finishes without a turn", async () => {
  const turns = new LiveTurns();
  const live = turns.begin({ turnId: "t", sessionId: "s", visibleBy: "s", startedBy: "u" });
  const opened = live.until(() => live.state.name !== "preparing");
  turns.end(live);
  await opened;
  assert.equal(await live.finished, null);
  assert.equal(live.state.name, "closed");
});

test("[V4] [T13] the queue takes a message once, and none behind its end but what its sender was promised", () => {
  const queue = new SteerQueue();
  assert.ok(queue.offer({ id: "1", text: "a" }) && queue.offer({ id: "1", text: "a" }));
  assert.deepEqual(queue.take({ isLast: true }), [{ text: "a" }]);
  assert.ok(queue.offer({ id: "2", text: "b" }), "an end that had a message was not the last");
  assert.deepEqual(queue.take({ isLast: true }), [{ text: "b" }]);
  assert.deepEqual(queue.take({ isLast: true }), []);
  assert.ok(!queue.offer({ id: "3", text: "c" }));
  assert.ok(queue.offer({ id: "2", text: "b" }), "one that it took is not refused when it comes again");
  queue.addLate({ id: "4", text: "d" });
  assert.deepEqual(queue.close(), [{ text: "d" }]);
});

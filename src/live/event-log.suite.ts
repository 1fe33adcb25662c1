/**
 * What every live log must do, as tests. Run it on your own driver to know that it keeps the contract (B5).
 */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { AptoveError } from "../domain/errors.ts";
import { isTerminal, type SequencedEvent, type TurnEvent } from "../domain/events.ts";
import { newId } from "../domain/ids.ts";
import { noUsage } from "../domain/usage.ts";
import type { EventLog } from "./event-log.ts";

const storageFailed = { name: "AptoveError", code: "storage_failed" };

export interface OpenLog {
  /** A new log without any turn. */
  log: EventLog;
  /** Opens the same turns as a second log, as another process does. Null if they live in this process only. */
  reopen: (() => EventLog | Promise<EventLog>) | null;
}
/** Opens a log for one test, and registers with `context.after` whatever must be closed and removed. */
export type OpenLogForTest = (context: TestContext) => OpenLog | Promise<OpenLog>;

/** Registers the tests in a suite of this name. */
export function eventLogSuite(name: string, open: OpenLogForTest): void {
  suite(name, () => {
    orderTests(open);
    textTests(open);
    waitTests(open);
    listenerTests(open);
    processTests(open);
  });
}

const needsReopen = "these logs live in this process only";
const never = new AbortController().signal;

function orderTests(open: OpenLogForTest): void {
  test("[V2] events are numbered from 1 without gaps, and come back in order", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    const events = deltas(30);
    for (const [from, to] of [
      [0, 1],
      [1, 1],
      [1, 8],
      [8, 30],
    ])
      await log.append(turnId, events.slice(from, to));
    assert.deepEqual(await log.read(turnId, 0), numbered(events));
  });

  test("[V2] appends that do not wait for each other keep their order", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    const events = deltas(200);
    await Promise.all(events.map((event) => log.append(turnId, [event])));
    assert.deepEqual(await log.read(turnId, 0), numbered(events));
  });

  test("[R1] a writer that has lost its turn adds nothing, and what it added before stays", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    let isOwner = true;
    const mayWrite = (): boolean => isOwner;
    await log.append(turnId, deltas(2), mayWrite);
    const late = log.append(turnId, deltas(1), mayWrite);
    isOwner = false;
    const outcomes = [late, log.append(turnId, deltas(1), mayWrite)].map((appended) =>
      appended.then(
        () => "added",
        (error: unknown) => (error instanceof AptoveError ? error.code : "other"),
      ),
    );
    const [, second] = await Promise.all(outcomes);
    assert.equal(second, "runner_lost");
    const added = (await outcomes[0]) === "added" ? 3 : 2;
    assert.equal((await log.read(turnId, 0))?.length, added);
  });

  test("[R2] every turn that has a log is listed, until it is dropped", async (context) => {
    const { log } = await open(context);
    const turnIds = [newId(), newId()];
    for (const turnId of turnIds) await log.append(turnId, deltas(1));
    assert.deepEqual((await log.list()).toSorted(), turnIds.toSorted());
    await log.drop(turnIds[0] ?? "");
    assert.deepEqual(await log.list(), [turnIds[1]]);
  });

  test("[V2] reading can continue after any event", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    const events = deltas(20);
    await log.append(turnId, events);
    for (let afterSeq = 0; afterSeq <= events.length + 2; afterSeq += 1) {
      assert.deepEqual(await log.read(turnId, afterSeq), numbered(events).slice(afterSeq), `after ${afterSeq}`);
    }
    assert.deepEqual(await log.read(turnId, -1), numbered(events));
  });

  test("[V2] a turn without a log is null, one without events yet is empty, and turns are separate", async (context) => {
    const { log } = await open(context);
    const [one, other, none] = [newId(), newId(), newId()];
    await log.append(one, deltas(3));
    await log.append(other, []);
    assert.deepEqual(await log.read(one, 0), numbered(deltas(3)));
    assert.deepEqual(await log.read(other, 0), []);
    assert.equal(await log.read(none, 0), null);
  });

  test("[V2] the returned list belongs to the caller: changing it does not change the log", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    await log.append(turnId, deltas(3));
    (await log.read(turnId, 0))?.splice(0);
    assert.deepEqual(await log.read(turnId, 0), numbered(deltas(3)));
  });

  test("[V2] what is not the id of a turn is refused", async (context) => {
    const { log } = await open(context);
    for (const turnId of ["", "a", "../../etc/passwd", `../${newId()}`, `${newId()}/x`, newId().toUpperCase(), "a\0"]) {
      await assert.rejects(log.append(turnId, deltas(1)), storageFailed, turnId);
      await assert.rejects(log.read(turnId, 0), storageFailed, turnId);
      await assert.rejects(log.wait(turnId, 0, never), storageFailed, turnId);
      await assert.rejects(log.drop(turnId), storageFailed, turnId);
    }
  });
}

function textTests(open: OpenLogForTest): void {
  test("[V2] any text comes back unchanged", async (context) => {
    const { log, reopen } = await open(context);
    const turnId = newId();
    const texts = [
      "",
      "\n",
      "\r\n\r\n",
      "\u2028\u2029",
      "\0",
      '{"type":"run_finished"}\n',
      "\ud800",
      "a\udc00b",
      "😀",
      "\ufeff",
      "\\n",
    ];
    const events = [...texts, randomText(5_000, 1), randomText(200_000, 2)].map(delta);
    for (const event of events) await log.append(turnId, [event]);
    assert.deepEqual(await log.read(turnId, 0), numbered(events));
    if (reopen !== null) assert.deepEqual(await (await reopen()).read(turnId, 0), numbered(events));
  });

  test("[V2] every kind of event comes back unchanged", async (context) => {
    const { log, reopen } = await open(context);
    const turnId = newId();
    const events: TurnEvent[] = [
      { type: "run_started", sessionId: newId(), turnId, parentTurnId: null },
      { type: "warning", warning: { code: "chain_rebuilt", message: "the provider forgot" } },
      { type: "tool_result", callId: "call_1", output: "fine", isError: false },
      { type: "step_finished", step: 1, usage: { ...noUsage, input: 12 } },
      finish,
    ];
    await log.append(turnId, events);
    assert.deepEqual(await log.read(turnId, 0), numbered(events));
    if (reopen !== null) assert.deepEqual(await (await reopen()).read(turnId, 0), numbered(events));
  });
}

function waitTests(open: OpenLogForTest): void {
  test("[V2] wait ends at once if there is a later event, and when one arrives", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    await log.append(turnId, deltas(2));
    await log.wait(turnId, 0, never);
    await log.wait(turnId, 1, never);
    const waiting = log.wait(turnId, 2, never);
    await log.append(turnId, [finish]);
    await waiting;
    assert.deepEqual(await log.read(turnId, 2), [{ seq: 3, event: finish }]);
  });

  test("[V2] no append is missed, whatever its timing relative to the wait", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    await log.append(turnId, deltas(1));
    for (let seq = 1; seq <= 300; seq += 1) {
      const appended = log.append(turnId, deltas(1));
      // Each round waits for another number of steps of the event loop.
      for (let step = 0; step < seq % 11; step += 1) await Promise.resolve();
      if (seq % 3 === 0) await new Promise(setImmediate);
      await Promise.all([log.wait(turnId, seq, never), appended]);
    }
  });

  test("[V2] wait ends when its signal aborts, before or during the wait", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    await log.append(turnId, deltas(1));
    await log.wait(turnId, 1, AbortSignal.abort());
    const controller = new AbortController();
    const waiting = [log.wait(turnId, 1, controller.signal), log.wait(newId(), 0, controller.signal)];
    controller.abort();
    await Promise.all(waiting);
  });

  test("[V2] drop deletes the log and wakes the waiting readers; a second drop is no error", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    await log.append(turnId, deltas(2));
    const waiting = [log.wait(turnId, 2, never), log.wait(turnId, 2, never)];
    await log.drop(turnId);
    await Promise.all(waiting);
    assert.equal(await log.read(turnId, 0), null);
    await log.drop(turnId);
    await log.drop(newId());
  });

  test("[V2] wait on a turn that has no log, not yet or no longer, ends after a while", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    await log.wait(turnId, 0, never);
    await log.append(turnId, deltas(2));
    await log.drop(turnId);
    await log.wait(turnId, 2, never);
  });

  test("[R4] close wakes the waiting readers", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    await log.append(turnId, deltas(1));
    const waiting = [log.wait(turnId, 1, never), log.wait(newId(), 0, never)];
    await log.close();
    await Promise.all(waiting);
  });
}

function listenerTests(open: OpenLogForTest): void {
  test("[R5] many listeners get every event, and one that never reads blocks no other", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    const events = [...deltas(300), finish];
    const idle = follow(log, turnId);
    await log.append(turnId, events.slice(0, 1));
    assert.equal((await idle.next()).done, false);
    const listeners = Array.from({ length: 25 }, () => Array.fromAsync(follow(log, turnId)));
    for (let at = 1; at < events.length; at += 3) {
      await log.append(turnId, events.slice(at, at + 3));
      if (at % 5 === 0) await new Promise(setImmediate);
    }
    for (const got of await Promise.all(listeners)) assert.deepEqual(got, numbered(events));
    // The idle listener lost nothing either.
    assert.deepEqual(await Array.fromAsync(idle), numbered(events).slice(1));
  });

  test("[V2] a listener that starts before the first event gets all", async (context) => {
    const { log } = await open(context);
    const turnId = newId();
    const listener = Array.fromAsync(follow(log, turnId));
    await log.append(turnId, deltas(2));
    await log.append(turnId, [finish]);
    assert.deepEqual(await listener, numbered([...deltas(2), finish]));
  });
}

function processTests(open: OpenLogForTest): void {
  test("[B4] [V2] another process follows a turn from any position while it runs", async (context) => {
    const { log, reopen } = await open(context);
    if (reopen === null) return context.skip(needsReopen);
    const other = await reopen();
    const turnId = newId();
    const events = [...deltas(60), finish];
    const listeners = [0, 1, 17].map((afterSeq) => Array.fromAsync(follow(other, turnId, afterSeq)));
    for (const event of events) {
      await log.append(turnId, [event]);
      await new Promise(setImmediate);
    }
    const [all, afterOne, afterMany] = await Promise.all(listeners);
    assert.deepEqual(all, numbered(events));
    assert.deepEqual(afterOne, numbered(events).slice(1));
    assert.deepEqual(afterMany, numbered(events).slice(17));
    for (let afterSeq = 0; afterSeq <= events.length; afterSeq += 1) {
      assert.deepEqual(await other.read(turnId, afterSeq), numbered(events).slice(afterSeq), `after ${afterSeq}`);
    }
  });

  test("[B4] a drop ends the wait of another process", async (context) => {
    const { log, reopen } = await open(context);
    if (reopen === null) return context.skip(needsReopen);
    const other = await reopen();
    const turnId = newId();
    await log.append(turnId, deltas(2));
    assert.deepEqual(await other.read(turnId, 0), numbered(deltas(2)));
    const waiting = other.wait(turnId, 2, never);
    await log.drop(turnId);
    await waiting;
    assert.equal(await other.read(turnId, 0), null);
  });

  test("[R4] close ends the wait for another process's turn", async (context) => {
    const { log, reopen } = await open(context);
    if (reopen === null) return context.skip(needsReopen);
    const other = await reopen();
    const turnId = newId();
    await log.append(turnId, deltas(2));
    const waiting = other.wait(turnId, 2, never);
    await other.close();
    await waiting;
  });

  test("[R2] a process that takes over the turn of an ended process continues where that stopped", async (context) => {
    const { log, reopen } = await open(context);
    if (reopen === null) return context.skip(needsReopen);
    const turnId = newId();
    await log.append(turnId, deltas(5));
    await log.close();
    const other = await reopen();
    assert.deepEqual(await other.read(turnId, 0), numbered(deltas(5)));
    await other.append(turnId, [finish]);
    assert.deepEqual(await (await reopen()).read(turnId, 0), numbered([...deltas(5), finish]));
  });
}

const finish: TurnEvent = {
  type: "run_finished",
  status: "completed",
  stopReason: "stop",
  usage: noUsage,
  deferredCalls: [],
};

function delta(text: string): TurnEvent {
  return { type: "text_delta", messageId: "message", delta: text };
}

function deltas(count: number): TurnEvent[] {
  return Array.from({ length: count }, (_, index) => delta(`word ${index} `));
}

function numbered(events: readonly TurnEvent[]): SequencedEvent[] {
  return events.map((event, index) => ({ seq: index + 1, event }));
}

/** Yields events as a listener reads them: it reads, and waits if there is nothing, up to the terminal event. */
async function* follow(log: EventLog, turnId: string, afterSeq = 0): AsyncGenerator<SequencedEvent, void> {
  for (let seq = afterSeq; ;) {
    const events = (await log.read(turnId, seq)) ?? [];
    for (const sequenced of events) {
      yield sequenced;
      seq = sequenced.seq;
      if (isTerminal(sequenced.event)) return;
    }
    if (events.length === 0) await log.wait(turnId, seq, never);
  }
}

/** Returns text of any 16-bit units, with lone surrogates and control characters, the same in every run (xorshift). */
function randomText(length: number, seed: number): string {
  let state = Math.imul(seed, 0x9e3779b9);
  const units = Uint16Array.from({ length }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state;
  });
  return Array.from(units, (unit) => String.fromCharCode(unit)).join("");
}

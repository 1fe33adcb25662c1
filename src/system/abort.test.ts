import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { anySignal, onAbort, pause, unlessAborted, whenAborted, withinMs } from "./abort.ts";

const never = new Promise<never>(() => undefined);

function listeners(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}

test("a listener is called once, at once if the signal has aborted, and never after it was removed", () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const calls: string[] = [];
  onAbort(first.signal, () => calls.push("first"));
  const remove = onAbort(second.signal, () => calls.push("second"));
  remove();
  first.abort();
  second.abort();
  onAbort(first.signal, () => calls.push("at once"));
  assert.deepEqual(calls, ["first", "at once"]);
});

test("work that an abort cuts short rejects with the signal's reason, and leaves no listener", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  assert.equal(await unlessAborted(Promise.resolve(1), signal), 1);
  await assert.rejects(unlessAborted(Promise.reject(new Error("its own")), signal), { message: "its own" });
  assert.equal(listeners(signal), 0);
  const cut = unlessAborted(never, signal);
  const failsLater = Promise.withResolvers<never>();
  const dropped = unlessAborted(failsLater.promise, signal);
  controller.abort("stop");
  for (const work of [cut, dropped, unlessAborted(never, signal)]) {
    await assert.rejects(work, (reason) => reason === "stop");
  }
  failsLater.reject(new Error("too late to matter"));
  assert.equal(await unlessAborted("done already", signal), "done already");
  assert.equal(await unlessAborted(Promise.resolve(1), undefined), 1);
});

test("work that takes too long gives null", async () => {
  assert.equal(await withinMs(60_000, Promise.resolve(1)), 1);
  await assert.rejects(withinMs(60_000, Promise.reject(new Error("its own"))), { message: "its own" });
  assert.equal(await withinMs(1, never), null);
});

test("a pause ends with its time or its signal, and leaves no listener", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  await pause(1, undefined);
  await pause(1, signal);
  assert.equal(listeners(signal), 0);
  const long = pause(60_000, signal);
  controller.abort();
  await long;
  await pause(60_000, signal);
  await whenAborted(signal);
});

test("the first of several signals aborts them all, and absent ones are left out", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const either = anySignal(undefined, signal, AbortSignal.timeout(60_000));
  controller.abort("stop");
  assert.equal(either.reason, "stop");
  assert.equal(anySignal(undefined).aborted, false);
});

/** Drivers that break the contract of a provider, as one that is written in JavaScript can (C7). */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { alice, all, testEngine, untilEvent } from "../../../../testing/engine.ts";
import { limits } from "../../../domain/limits.ts";
import { unknownUsage } from "../../../domain/usage.ts";
import type { PreparedRequest, Provider, ProviderEvent } from "../../../providers/provider.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";

/** A driver whose last event is changed. */
function driver(change: (last: ProviderEvent) => object): Provider {
  const scripted = scriptedProvider({ name: "acme" });
  return {
    ...scripted,
    send: async function* (request, signal) {
      for await (const event of scripted.send(request, signal)) {
        yield event.type === "finished" ? (change(event) as ProviderEvent) : event;
      }
    },
  };
}

test("[C7] an answer without its usage fails with the words of the contract", async (t) => {
  const provider = driver(({ ...last }) => ({ ...last, usage: undefined }));
  const { ask } = await testEngine(t, { provider });
  const turn = await ask("hi");
  assert.ok(turn.status === "failed");
  const [{ code, message }] = turn.failures;
  assert.equal(code, "internal");
  assert.match(message, /^the driver of acme breaks its contract: an event `finished` has `usage`, with the counts/);
});

test("[C7] a driver that prepares no request is named, with the contract", async (t) => {
  const scripted = scriptedProvider({ name: "acme" });
  const message =
    "the driver of acme breaks its contract: `prepare` returns `model` and `body`, both texts, and the list `dropped`";
  for (const prepared of [
    undefined,
    null,
    "{}",
    { model: "m", body: { a: 1 }, dropped: [] },
    { model: "m", body: "" },
  ]) {
    const { ask } = await testEngine(t, { provider: { ...scripted, prepare: () => prepared as PreparedRequest } });
    const turn = await ask("hi");
    assert.ok(turn.status === "failed");
    assert.deepEqual([turn.failures[0].code, turn.failures[0].message], ["internal", message]);
  }
  const throwing: Provider = {
    ...scripted,
    prepare: () => {
      throw new Error("no body");
    },
  };
  const { ask } = await testEngine(t, { provider: throwing });
  const turn = await ask("hi");
  assert.equal(turn.status === "failed" && turn.failures[0].message, "the driver of acme threw in `prepare`: no body");
});

test("[T11] a usage that lacks a count is unknown, and the answer is kept", async (t) => {
  const counts = { input: 3, output: 4, cached: 0, reasoning: 0, total: 7 };
  const usages = [
    { input: 3, output: 4 },
    { ...counts, input: Number.NaN },
    { ...counts, total: -5 },
  ];
  for (const usage of usages) {
    const { ask } = await testEngine(t, { provider: driver(({ ...last }) => ({ ...last, usage })) });
    const turn = await ask("hi");
    assert.equal(turn.status, "completed");
    assert.deepEqual(turn.run.usage, unknownUsage);
  }
});

test("[E8] a key in what a driver throws, or says of its failure, is not stored", async (t) => {
  const key = "sk-abcdefghijklmnopqrstuvwx";
  const scripted = scriptedProvider({ name: "acme" });
  const throwing = (): never => {
    throw new Error(`boom key=${key}`);
  };
  const reason = { code: "provider_rejected", message: `no ${key}`, retryable: false };
  const drivers: [Provider, string][] = [
    [{ ...scripted, prepare: throwing }, "the driver of acme threw in `prepare`: boom key=***"],
    [{ ...scripted, send: throwing }, "the driver of acme threw: boom key=***"],
    [driver(() => ({ type: "failed", failure: reason })), "no ***"],
  ];
  for (const [provider, message] of drivers) {
    const { ask } = await testEngine(t, { provider });
    const turn = await ask("hi");
    assert.equal(turn.status === "failed" && turn.failures[0].message, message);
  }
});

test("[C7] a failure without its usage and its wait keeps its own words", async (t) => {
  const failure = { code: "provider_rejected", message: "no", retryable: false };
  const { ask } = await testEngine(t, { provider: driver(() => ({ type: "failed", failure })) });
  const turn = await ask("hi");
  assert.deepEqual(turn.status === "failed" && turn.failures, [failure]);
});

test("[C7] [D2] a wait that makes no sense is none, so that the session can be exported and imported", async (t) => {
  const reason = { code: "provider_rejected", message: "no", retryable: false };
  const waits: [object, number | undefined][] = [
    [{ retryAfterMs: Number.NaN }, undefined],
    [{ retryAfterMs: -5_000 }, undefined],
    [{ retryAfterMs: Infinity }, undefined],
    [{ retryAfterMs: 366 * 24 * 3_600_000 }, undefined],
    [{ retryAfterMs: "7" }, undefined],
    [{ failure: { ...reason, retryAfterSeconds: Number.NaN } }, undefined],
    [{ retryAfterMs: 0 }, 0],
    [{ retryAfterMs: 1_200.5 }, 2],
    [{ failure: { ...reason, retryAfterSeconds: 90 } }, 90],
  ];
  for (const [given, seconds] of waits) {
    const provider = driver(() => ({ type: "failed", failure: reason, ...given }));
    const { ask, engine } = await testEngine(t, { provider });
    const turn = await ask("hi");
    const kept = { ...reason, ...(seconds !== undefined && { retryAfterSeconds: seconds }) };
    assert.deepEqual(turn.status === "failed" && turn.failures, [kept], JSON.stringify(given));
    const lines = await all(engine.transfer.export(alice, { sessionId: turn.sessionId }));
    const other = await testEngine(t);
    assert.equal((await other.engine.transfer.import(alice, Readable.from(lines))).turnsImported, 1);
  }
});

test("[T10] [T11] [R4] a driver that ignores its abort signal is left, what it sent is kept, and the engine closes", async (t) => {
  const never = new Promise<IteratorResult<ProviderEvent>>(() => {});
  for (const deltas of [["part"], []]) {
    let returned = 0;
    const waits: number[] = [];
    const events: ProviderEvent[] = deltas.map((delta) => ({ type: "text_delta", itemId: "m1", delta }));
    const provider: Provider = {
      ...scriptedProvider({ name: "acme" }),
      send: () => ({
        [Symbol.asyncIterator]: () => ({
          next: async () => {
            const value = events.shift();
            return value === undefined ? await never : { done: false, value };
          },
          return: async () => ((returned += 1), await never),
        }),
      }),
    };
    const deadline = (ms: number): AbortSignal => (waits.push(ms), AbortSignal.abort());
    const { start, engine, caller, answer, reports } = await testEngine(t, { provider, deadline });
    const [first, second] = [await start("one"), await start("two")];
    await untilEvent(first, "step_started");
    if (deltas.length > 0) await untilEvent(first, "text_delta");
    await engine.turns.interrupt(caller, { turnId: first.turnId });
    const turn = await first.finished;
    if (deltas.length > 0) {
      assert.equal(turn.status === "completed" && turn.stopReason, "interrupted");
      assert.equal(await answer(turn.id), "part");
    } else assert.equal(turn.status === "failed" && turn.failures[0].code, "interrupted");
    await engine.close({ graceMs: 0 });
    assert.notEqual((await second.finished).status, "pending");
    assert.deepEqual(waits, [limits.providerEndMs, limits.providerEndMs]);
    assert.equal(returned, 2);
    const message = "the driver of acme breaks its contract: it did not end within 1 s after its signal aborted";
    assert.deepEqual(reports, [message, message]);
  }
});

test("[T10] [T11] what a driver sends after it was left is not taken", async (t) => {
  const left = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  async function* send(): AsyncGenerator<ProviderEvent> {
    try {
      yield { type: "text_delta", itemId: "m1", delta: "part" };
      await left.promise;
      yield { type: "text_delta", itemId: "m1", delta: " and more" };
    } finally {
      ended.resolve();
    }
  }
  const provider: Provider = { ...scriptedProvider({ name: "acme" }), send };
  const { start, engine, caller, answer } = await testEngine(t, { provider, deadline: () => AbortSignal.abort() });
  const running = await start("hi");
  await untilEvent(running, "text_delta");
  await engine.turns.interrupt(caller, { turnId: running.turnId });
  const turn = await running.finished;
  left.resolve();
  await ended.promise;
  assert.equal(await answer(turn.id), "part");
});

test("[C7] a driver whose `send` returns no events, or throws at once, fails the turn with its name", async (t) => {
  const sends: [() => unknown, RegExp][] = [
    [() => 5, /^the driver of acme breaks its contract: `send` returns an async iterable of events$/],
    [() => undefined, /^the driver of acme breaks its contract: `send` returns an async iterable of events$/],
    [
      async function* () {
        yield null;
      },
      /^the driver of acme breaks its contract: `send` gives events, each with its `type`$/,
    ],
    [
      () => {
        throw new Error("at once");
      },
      /^the driver of acme threw: at once$/,
    ],
  ];
  for (const [send, message] of sends) {
    const { ask } = await testEngine(t, {
      provider: { ...scriptedProvider({ name: "acme" }), send: send as Provider["send"] },
    });
    const turn = await ask("hi");
    assert.ok(turn.status === "failed");
    assert.equal(turn.failures[0].code, "internal");
    assert.match(turn.failures[0].message, message);
  }
});

test("[C7] [V1] an item that is not what its deltas were is reported, and both are kept as they came", async (t) => {
  const usage = { input: 1, output: 1, cached: 0, reasoning: 0, total: 2 };
  async function* send(): AsyncGenerator<ProviderEvent> {
    yield { type: "text_delta", itemId: "m1", delta: "hello" };
    yield { type: "item", itemId: "m1", item: { type: "assistant", text: "other" } };
    yield { type: "item", itemId: "m2", item: { type: "assistant", text: "without deltas" } };
    yield { type: "finished", stopReason: "stop", usage, responseId: null, model: "m" };
  }
  const { ask, answer, reports } = await testEngine(t, { provider: { ...scriptedProvider({ name: "acme" }), send } });
  const turn = await ask("hi");
  assert.equal(turn.status, "completed");
  assert.equal(await answer(turn.id), "hello\n\nwithout deltas");
  assert.equal(reports.length, 1);
  assert.match(reports[0] ?? "", /^the driver of acme breaks its contract: an item is not what its deltas were/);
});

/** Budgets (F11): a call is held before it is made, counted when it has ended, and never passes what is left. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import {
  alice,
  testEngine,
  testParts,
  testRunner,
  untilEvent,
  type TestEngineOptions,
} from "../../../../testing/engine.ts";
import { dayMs, nanoUsd, type BudgetStart, type BudgetState } from "../../../domain/budget.ts";
import { AptoveError, failure } from "../../../domain/errors.ts";
import { newId } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import type { ProviderEvent } from "../../../providers/provider.ts";
import { failedEvent } from "../../../providers/terminal-event.ts";
import { costOf } from "../../../domain/models.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import type { Usage } from "../../../domain/usage.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";
import { wrapMethods } from "../../../system/wrap-methods.ts";
import type { RecordStore } from "../../../records/record-store.ts";
import type { ScriptedPart } from "../../../providers/scripted/scripted.ts";
import type { Tool } from "../../../tools/tool.ts";
import { createEngine } from "../../create-engine.ts";
import type { Engine } from "../../engine.ts";

const model = "gpt-5.1";
const limited = { conversation: { model, settings: { maxOutputTokens: 1_000 } } };
const usage: Usage = { input: 400, output: 100, cached: 0, reasoning: 0, total: 500 };
const cost = nanoUsd(costOf(model, usage) ?? 0);
/** More than the bound of one small call. */
const enough = nanoUsd(0.05);

const says = (text: string): ScriptedPart[] => [{ says: text }, { stops: "stop", usage }];

async function worldOf(context: TestContext, options: TestEngineOptions = {}) {
  return await testEngine(context, { ...limited, script: () => says("done"), ...options });
}

const person: BudgetStart = { scope: "person", period: "total", unit: "usd", limit: enough };

async function only(engine: Engine): Promise<BudgetState> {
  const [budget, ...others] = await engine.people.budgets.list(alice);
  assert.ok(budget !== undefined && others.length === 0);
  return budget;
}

function codeOf(turn: FinishedTurn): string {
  return turn.status === "failed" ? turn.failures[0].code : turn.status;
}

test("[F11] what a call really cost replaces what was held for it, with all kinds of tokens priced", async (t) => {
  const held: number[] = [];
  const mixed: Usage = { input: 400, output: 100, cached: 300, written: 50, reasoning: 0, total: 500 };
  const { ask, engine } = await worldOf(t, {
    script: () => {
      const reserved = only(engine).then((budget) => void held.push(budget.reserved));
      return [{ waits: reserved }, { says: "done" }, { stops: "stop", usage: mixed }];
    },
  });
  await engine.people.budgets.set(alice, person);
  assert.equal((await ask("a question")).status, "completed");
  const { spent, reserved } = await only(engine);
  assert.equal(reserved, 0);
  assert.equal(spent, nanoUsd(costOf(model, mixed) ?? 0));
  // The output alone may cost a cent.
  assert.ok((held[0] ?? 0) > nanoUsd(0.01) && (held[0] ?? 0) < enough, `${held[0]}`);
});

test("[F11] a call that could pass its budget is not made, and the turn says which budget, what is left, and what to do", async (t) => {
  const { ask, engine, provider } = await worldOf(t);
  await engine.people.budgets.set(alice, { ...person, limit: nanoUsd(0.005) });
  const turn = await ask("a question");
  assert.equal(codeOf(turn), "budget_exceeded");
  const { message } = turn.status === "failed" ? turn.failures[0] : { message: "" };
  const { id } = await only(engine);
  assert.ok(message.includes(`budget ${id.slice(-8)} `), message);
  assert.ok(message.includes(`budget ${(await only(engine)).id.slice(-8)} `), message);
  assert.match(message, /could use up to \$0\.01\d+, but budget \w{8} \(for the person who asked, in total\) has/);
  assert.ok(message.includes("$0.0050 left ($0.00 of $0.0050 spent); raise the budget, as an admin"));
  assert.match(message, /or set a smaller output limit \(maxOutputTokens\), with which a call holds less$/);
  assert.equal(provider.exchanges.length, 0);
  assert.equal(turn.run.modelRequests, 0);

  await engine.people.budgets.set(alice, person);
  assert.equal((await ask("again", { sessionId: turn.sessionId })).status, "completed");
});

test("[F11] [T12] a loop of tools that reaches its budget keeps the steps that it has finished", async (t) => {
  const tool: Tool = {
    definition: { name: "look", parameters: { type: "object" } },
    needsApproval: () => false,
    run: async () => ({ output: "seen", isError: false }),
  };
  const looks = (n: number): ScriptedPart[] => [
    { says: `look ${n}. ` },
    { calls: "look", with: { n } },
    { stops: "tool_calls", usage: { ...usage, input: 2_000, total: 2_100 } },
  ];
  const { ask, engine, provider } = await worldOf(t, { tools: [tool], script: (_call, n) => looks(n) });
  await engine.people.budgets.set(alice, person);
  const turn = await ask("look around");
  assert.equal(codeOf(turn), "budget_exceeded");
  const made = provider.exchanges.length;
  assert.ok(made >= 3 && made < 30, `${made} calls`);
  assert.equal(turn.run.modelRequests, made);
  const { spent, reserved, limit } = await only(engine);
  assert.ok(spent <= limit && reserved === 0);
  assert.notEqual(turn.blobs.state, null, "the next turn knows what was done");
});

test("[F11] a model without a known price is refused by a budget in dollars, or counts what the budget says", async (t) => {
  const { ask, engine, provider } = await worldOf(t, { conversation: { settings: { maxOutputTokens: 10 } } });
  await engine.people.budgets.set(alice, person);
  const refused = await ask("a question");
  assert.equal(codeOf(refused), "price_unknown");
  assert.match(refused.status === "failed" ? refused.failures[0].message : "", /"scripted-1" is not known/);
  assert.equal(provider.exchanges.length, 0);

  const unknownPrice = nanoUsd(2) / 1_000_000;
  await engine.people.budgets.set(alice, { ...person, unknownPrice });
  assert.equal((await ask("a question")).status, "completed");
  assert.equal((await only(engine)).spent, 500 * unknownPrice);
});

test("[F11] a budget in tokens needs no price", async (t) => {
  const { ask, engine } = await worldOf(t, { conversation: { settings: { maxOutputTokens: 10 } } });
  await engine.people.budgets.set(alice, { ...person, unit: "tokens", limit: 3_000 });
  assert.equal((await ask("a question")).status, "completed");
  assert.equal((await only(engine)).spent, 500);
});

test("[F11] a session, a key, a person and an org have budgets of their own, and the calls of others do not count", async (t) => {
  const { engine, start } = await worldOf(t);
  const keyId = (await engine.keys.create(alice, { name: "script" })).key.id;
  const first = await (await start("one")).finished;
  const scopes: BudgetStart[] = [
    { ...person, scope: "session", targetId: first.sessionId },
    { ...person, scope: "key", targetId: keyId },
    { ...person, scope: "org", period: "day" },
    person,
  ];
  for (const budget of scopes) await engine.people.budgets.set(alice, budget);
  const bob = { ...alice, userId: newId(), role: "member" as const };
  const byBob = await engine.turns.run(bob, { instruction: "another session" });
  assert.equal((await byBob.finished).status, "completed");
  const calls = async (): Promise<Record<string, number>> =>
    Object.fromEntries((await engine.people.budgets.list(alice)).map(({ scope, spent }) => [scope, spent / cost]));
  assert.deepEqual(await calls(), { session: 0, key: 0, org: 1, person: 0 });
  const byKey = await engine.turns.run({ ...alice, keyId }, { instruction: "two", sessionId: first.sessionId });
  await byKey.finished;
  assert.deepEqual(await calls(), { session: 1, key: 1, org: 2, person: 1 });
  assert.deepEqual(
    (await engine.people.budgets.list(bob)).map(({ scope }) => scope),
    ["org"],
  );
});

test("[F11] a call whose end is not known counts all that was held for it, also after a restart", async (t) => {
  const dead = new Set<string>();
  const never = new Promise<void>(() => {});
  const deps = testParts({
    ...limited,
    script: () => [{ says: ["half ", never] }],
    isAlive: (runner) => !dead.has(runner.id),
  });
  const old = await createEngine(deps);
  t.after(() => old.close({ graceMs: 0 }));
  await old.people.budgets.set(alice, person);
  const running = await old.turns.run(alice, { instruction: "a question" });
  await untilEvent(running, "text_delta");
  const { reserved } = await only(old);
  dead.add(deps.runner.id);
  const { engine } = await testEngine(t, { ...deps, runner: testRunner() });
  const after = await only(engine);
  assert.deepEqual([after.spent, after.reserved], [reserved, 0]);

  const stopped = await engine.turns.run(alice, { instruction: "another" });
  await untilEvent(stopped, "text_delta");
  await engine.turns.interrupt(alice, { turnId: stopped.turnId });
  await stopped.finished;
  const last = await only(engine);
  assert.ok(last.spent > after.spent && last.reserved === 0);
});

test("[F11] an answer that was cut off after some counts counts all that was held", async (t) => {
  async function* cut(): AsyncGenerator<ProviderEvent> {
    yield { type: "text_delta", itemId: "m1", delta: "half" };
    yield failedEvent(failure("provider_stream_cut", "cut"), { usage: { ...usage, isPartial: true } });
  }
  const { ask, engine } = await worldOf(t, { script: cut });
  await engine.people.budgets.set(alice, person);
  assert.equal(codeOf(await ask("a question")), "provider_stream_cut");
  const { spent, reserved } = await only(engine);
  assert.ok(spent > nanoUsd(0.01) && reserved === 0, `${spent}, and the counts cost ${cost}`);
});

test("[F11] a call that the provider refused, or that was never sent, costs nothing", async (t) => {
  const { ask, engine } = await worldOf(t, { script: () => [{ fails: "provider_rejected" }] });
  await engine.people.budgets.set(alice, person);
  assert.equal(codeOf(await ask("a question")), "provider_rejected");
  const { spent, reserved } = await only(engine);
  assert.deepEqual([spent, reserved], [0, 0]);
});

test("[F11] a day begins at midnight UTC by the clock of the store, and a clock that jumps gives no day twice", async (t) => {
  let now = 20_000 * dayMs + dayMs - 1;
  const records = memoryRecords({ now: () => now });
  const { ask, engine } = await worldOf(t, { records, now: () => 0 });
  await engine.people.budgets.set(alice, { ...person, period: "day" });
  const spentAfter = async (): Promise<number> => {
    assert.equal((await ask("a question")).status, "completed");
    return (await only(engine)).spent / cost;
  };
  assert.equal(await spentAfter(), 1);
  now += 1;
  assert.equal(await spentAfter(), 1, "the next day begins at 0");
  now -= 1;
  assert.equal(await spentAfter(), 2, "the clock is set back over midnight");
  now += 400 * dayMs;
  assert.equal(await spentAfter(), 1, "the clock is set far ahead");
  now -= 399 * dayMs;
  assert.equal(await spentAfter(), 2, "and back to a day that has begun");
});

test("[F11] a call that ends after midnight counts for the day on which it began", async (t) => {
  let now = 20_000 * dayMs - 1;
  const records = memoryRecords({ now: () => now });
  const script = () => {
    now += 1;
    return says("done");
  };
  const { ask, engine } = await worldOf(t, { records, script });
  await engine.people.budgets.set(alice, { ...person, period: "day" });
  assert.equal((await ask("a question")).status, "completed");
  assert.equal((await only(engine)).spent, 0);
  now -= 1;
  assert.equal((await only(engine)).spent, cost);
});

function counted(records: RecordStore): { records: RecordStore; calls: string[] } {
  const calls: string[] = [];
  const counting = wrapMethods(records, (method, name) => async (...args) => {
    calls.push(name);
    return await method(...args);
  });
  return { records: counting, calls };
}

test("[F11] [K5] a turn without a budget asks the records nothing about budgets", async (t) => {
  const { records, calls } = counted(memoryRecords());
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { ask, engine } = await worldOf(t, { records });
  calls.length = 0;
  assert.equal((await ask("a question")).status, "completed");
  assert.deepEqual(
    calls.filter((name) => name.startsWith("budgets.")),
    [],
  );
  await engine.people.budgets.set(alice, person);
  calls.length = 0;
  await ask("a question");
  assert.deepEqual(
    calls.filter((name) => name.startsWith("budgets.")),
    ["budgets.reserve", "budgets.settle"],
  );
});

test("[F11] [T12] a call that cannot be counted at once fails no turn, and is counted when the store is back", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const records = memoryRecords();
  const { settle } = records.budgets;
  const settled = Promise.withResolvers<void>();
  let isAway = true;
  records.budgets.settle = async (call, used) => {
    if (isAway) throw new AptoveError("storage_failed", "no answer");
    await settle.call(records.budgets, call, used);
    settled.resolve();
  };
  const { ask, engine, reports } = await worldOf(t, { records });
  await engine.people.budgets.set(alice, person);
  const turn = await ask("a question");
  assert.ok(turn.status === "completed" && turn.run.usage.total === usage.total);
  assert.match(reports.join(), /could not be counted in its budgets/);
  assert.ok((await only(engine)).reserved > 0);
  isAway = false;
  t.mock.timers.tick(limits.leaseRenewMs);
  await settled.promise;
  const { spent, reserved } = await only(engine);
  assert.deepEqual([spent, reserved], [cost, 0]);
});

test("[F11] [R4] a call that could not be counted is counted before the process ends", async (t) => {
  const records = memoryRecords();
  const { settle } = records.budgets;
  records.budgets.settle = async () => {
    throw new AptoveError("storage_failed", "no answer");
  };
  const { ask, engine } = await worldOf(t, { records });
  await engine.people.budgets.set(alice, person);
  await ask("a question");
  records.budgets.settle = settle;
  await engine.close();
  const [budget] = await records.budgets.list(alice.orgId);
  assert.deepEqual([budget?.spent, budget?.reserved], [cost, 0]);
});

test("[F11] a store that holds a call and reports a failure does not hold it for ever", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const records = memoryRecords();
  const { reserve, settle } = records.budgets;
  records.budgets.reserve = async (reservation) => {
    await reserve.call(records.budgets, reservation);
    throw new AptoveError("storage_failed", "the answer was lost");
  };
  const settled = Promise.withResolvers<void>();
  records.budgets.settle = async (call, used) => {
    await settle.call(records.budgets, call, used);
    settled.resolve();
  };
  const { ask, engine } = await worldOf(t, { records });
  await engine.people.budgets.set(alice, person);
  assert.equal(codeOf(await ask("a question")), "storage_failed");
  t.mock.timers.tick(limits.leaseRenewMs);
  await settled.promise;
  const { spent, reserved } = await only(engine);
  assert.deepEqual([spent, reserved], [0, 0]);
});

test("[F11] a budget that is set while a turn runs counts from its next call", async (t) => {
  const tool: Tool = {
    definition: { name: "look", parameters: { type: "object" } },
    needsApproval: () => false,
    run: async () => {
      await engine.people.budgets.set(alice, { ...person, limit: 0 });
      return { output: "seen", isError: false };
    },
  };
  const { ask, engine } = await worldOf(t, { tools: [tool], script: () => [{ calls: "look" }] });
  assert.equal(codeOf(await ask("look around")), "budget_exceeded");
});

test("[F11] [O3] a turn whose content is not kept has the budgets of its person", async (t) => {
  const { engine } = await worldOf(t);
  await engine.people.budgets.set(alice, person);
  const place = await engine.unkept(alice);
  assert.ok(place !== null);
  const turn = await (await place.turns.run(alice, { instruction: "a question" })).finished;
  assert.equal(turn.status, "completed");
  assert.equal((await only(engine)).spent, cost);
  await engine.people.budgets.set(alice, { ...person, limit: cost });
  const refused = await (await place.turns.run(alice, { instruction: "a question" })).finished;
  assert.equal(codeOf(refused), "budget_exceeded");
  place.forget();
});

test("[F11] [C6] the call for a summary is held too", async (t) => {
  const { ask, engine, provider } = await worldOf(t);
  const first = await ask("a question");
  await engine.people.budgets.set(alice, { ...person, limit: nanoUsd(0.02) });
  const turn = await ask("go on", { sessionId: first.sessionId, compact: true });
  // The model's own limit of the output counts, because a summary has no other.
  assert.equal(codeOf(turn), "budget_exceeded");
  assert.equal(provider.exchanges.length, 1);
});

const waiting: BudgetStart = { ...person, limit: 0, onLimit: "wait" };

function waitsFor(turn: FinishedTurn): { callId: string; arguments: string } {
  assert.equal(turn.status, "awaiting_tool_results");
  assert.ok(turn.status === "awaiting_tool_results");
  const [call, ...others] = turn.deferredCalls;
  assert.ok(call !== undefined && others.length === 0);
  assert.equal(call.waitsFor, "approval");
  return call;
}

test("[F11] a budget that waits parks the turn like an approval, and a person lets one call pass", async (t) => {
  const { ask, engine, provider, answer } = await worldOf(t);
  await engine.people.budgets.set(alice, waiting);
  const parked = await ask("a question");
  const call = waitsFor(parked);
  assert.match(call.arguments, /could use up to \$0\.01\d+, but budget .* has \$0\.00 left \(/);
  assert.equal(parked.warnings[0]?.code, "budget_waits");
  assert.equal(provider.exchanges.length, 0);
  const [listed] = await engine.turns.waiting(alice);
  assert.deepEqual([listed?.callId, listed?.isParked], [call.callId, true]);
  assert.equal(listed?.view?.title, "Let the next call of the model pass its budget");

  const toolResults = [{ callId: call.callId, approved: true }];
  const done = await ask("", { sessionId: parked.sessionId, toolResults });
  assert.equal(done.status, "completed");
  assert.equal(await answer(done.id), "done");
  assert.deepEqual(
    provider.exchanges[0]?.context.map(({ type }) => type),
    ["user"],
    "the model sees the question, and nothing of the approval",
  );
  assert.equal((await only(engine)).spent, cost);
  // One call was let through, and no more.
  waitsFor(await ask("more", { sessionId: parked.sessionId }));
});

test("[F11] [T8] a loop of tools that waits for its budget goes on where it stopped", async (t) => {
  let looks = 0;
  const tool: Tool = {
    definition: { name: "look", parameters: { type: "object" } },
    needsApproval: () => false,
    run: async () => {
      looks += 1;
      if (looks === 2) await engine.people.budgets.set(alice, waiting);
      return { output: `seen ${looks}`, isError: false };
    },
  };
  const script = (_call: unknown, n: number): ScriptedPart[] =>
    n < 4 ? [{ calls: "look", with: { n } }] : says("done");
  const { ask, engine, provider } = await worldOf(t, { tools: [tool], script });
  const parked = await ask("look around");
  waitsFor(parked);
  assert.equal(looks, 2);
  await engine.people.budgets.set(alice, person);
  const done = await ask("", {
    sessionId: parked.sessionId,
    toolResults: [{ callId: waitsFor(parked).callId, approved: true }],
  });
  assert.equal(done.status, "completed");
  assert.equal(looks, 3, "no tool ran twice");
  const results = provider.exchanges
    .at(-1)
    ?.context.flatMap((item) => (item.type === "tool_result" ? [item.output] : []));
  assert.deepEqual(results, ["seen 1", "seen 2", "seen 3"]);
  assert.equal((await engine.explain.verify(alice, parked.sessionId)).fault, null);
});

test("[F11] a denied call fails the turn, and the session goes on when there is room", async (t) => {
  const { ask, engine, provider } = await worldOf(t);
  await engine.people.budgets.set(alice, waiting);
  const parked = await ask("a question");
  const toolResults = [{ callId: waitsFor(parked).callId, approved: false }];
  const denied = await ask("", { sessionId: parked.sessionId, toolResults });
  assert.equal(codeOf(denied), "budget_exceeded");
  assert.match(
    denied.status === "failed" ? denied.failures[0].message : "",
    /did not let the call .*: the next call could use .*; raise/,
  );
  await engine.people.budgets.set(alice, { ...person, onLimit: "wait" });
  assert.equal((await ask("go on", { sessionId: parked.sessionId })).status, "completed");
  assert.equal(provider.exchanges.length, 1);
});

test("[F11] [H4] only who may set a budget lets a call pass it, and who may not tries again", async (t) => {
  const { engine, provider } = await worldOf(t);
  const bob = { ...alice, userId: newId(), role: "member" as const };
  await engine.people.budgets.set(alice, { ...waiting, scope: "org" });
  const parked = await (await engine.turns.run(bob, { instruction: "a question" })).finished;
  const allow = async (turn: FinishedTurn): Promise<FinishedTurn> => {
    const toolResults = [{ callId: waitsFor(turn).callId, approved: true }];
    const next = await engine.turns.run(bob, { instruction: "", sessionId: turn.sessionId, toolResults });
    return await next.finished;
  };
  const again = await allow(parked);
  waitsFor(again);
  assert.equal(provider.exchanges.length, 0);
  await engine.people.budgets.set(alice, { ...person, scope: "org" });
  assert.equal((await allow(again)).status, "completed");
});

test("[F11] a client that cannot show that a turn waits gets the failure", async (t) => {
  const { ask, engine } = await worldOf(t);
  await engine.people.budgets.set(alice, waiting);
  assert.equal(codeOf(await ask("a question", { cannotWait: true })), "budget_exceeded");
});

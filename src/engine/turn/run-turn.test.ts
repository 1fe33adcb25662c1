import assert from "node:assert/strict";
import { test } from "node:test";
import { all, alice, testEngine } from "../../../testing/engine.ts";
import { hasCode, rejectionOf } from "../../../testing/refusals.ts";
import { replaceBlob } from "../../../testing/replace-blob.ts";
import type { ErrorCode } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { CompletedTurn, FinishedTurn } from "../../domain/turn.ts";
import { limits } from "../../domain/limits.ts";

function completed(turn: FinishedTurn): CompletedTurn {
  assert.equal(turn.status, "completed", JSON.stringify("failures" in turn ? turn.failures : turn));
  return turn as CompletedTurn;
}

test("[S2] [S3] [S4] [T1] a first turn makes a session with its id, its owner and its name", async (t) => {
  const { ask, engine } = await testEngine(t);
  const turn = completed(await ask("Fix the tests\nplease"));
  const session = await engine.sessions.get(alice, turn.sessionId);
  assert.equal(turn.id, session.id);
  assert.equal(session.name, "Fix the tests");
  assert.deepEqual([session.orgId, session.userId], [alice.orgId, alice.userId]);
  assert.equal(session.headTurnId, turn.id);
  assert.deepEqual([turn.sequence, turn.depth, turn.parentId], [1, 1, null]);
});

test("[S4] a session that was made first gives its id to its first turn, also when two ask for it at once", async (t) => {
  const { engine, start } = await testEngine(t);
  const session = await engine.sessions.create(alice, { name: "kept" });
  const tries = await Promise.allSettled([1, 2, 3].map((n) => start(`try ${n}`, { sessionId: session.id })));
  const [winner, ...others] = tries.filter((one) => one.status === "fulfilled").map((one) => one.value);
  assert.ok(winner !== undefined && others.length === 0);
  const turn = completed(await winner.finished);
  assert.equal(turn.id, session.id);
  const reader = await engine.turns.read(alice, turn.id);
  assert.equal(await reader.instruction(), turn.instructionSummary);
  assert.equal((await engine.sessions.get(alice, session.id)).name, "kept");
});

test("[T1] [T6] [S5] a continue has the head as its parent and becomes the head", async (t) => {
  const { ask, engine } = await testEngine(t);
  const first = await ask("one");
  const second = await ask("two", { sessionId: first.sessionId });
  assert.deepEqual([second.parentId, second.sequence, second.depth], [first.id, 2, 2]);
  assert.equal((await engine.sessions.get(alice, first.sessionId)).headTurnId, second.id);
});

test("[S5] a continue from a head that has moved is refused with where it is", async (t) => {
  const { ask, start } = await testEngine(t);
  const first = await ask("one");
  const second = await ask("two", { sessionId: first.sessionId });
  const { code, facts } = await rejectionOf(start("late", { sessionId: first.sessionId, expectedHead: first.id }));
  assert.deepEqual([code, facts["headTurnId"]], ["head_moved", second.id]);
  completed(await ask("in time", { sessionId: first.sessionId, expectedHead: second.id }));
});

test("[T5] a second turn is refused with the running one's id, and leaves nothing behind", async (t) => {
  const held = Promise.withResolvers<void>();
  const { start, engine, deps } = await testEngine(t, { script: () => [{ waits: held.promise }, { says: "done" }] });
  const running = await start("long");
  const before = await deps.blobs.list("");
  const { code, facts } = await rejectionOf(start("too soon", { sessionId: running.sessionId }));
  assert.deepEqual([code, facts["turnId"]], ["session_busy", running.turnId]);
  assert.deepEqual(await deps.blobs.list(""), before);
  held.resolve();
  completed(await running.finished);
  assert.equal((await engine.turns.list(alice, running.sessionId, {})).length, 1);
});

test("[E1] [E2] [C1] in a chain only what is new is sent; the boot prompt goes first and once", async (t) => {
  const { ask, provider } = await testEngine(t);
  const first = await ask("one");
  await ask("two", { sessionId: first.sessionId });
  const [one, two] = provider.exchanges;
  assert.ok(one?.call.prompt?.startsWith("Be careful."));
  assert.equal(one?.call.previousResponseId, null);
  assert.equal(two?.call.prompt, null);
  assert.ok(two.call.previousResponseId);
  assert.deepEqual(two.call.items, [{ type: "user", parts: ["[MODE: ask]\n\n[INSTRUCTION]\ntwo"] }]);
});

test("[C1] a replay and a chain give the model the same history", async (t) => {
  const seen = await Promise.all(
    (["chain", "replay"] as const).map(async (history) => {
      const { ask, provider } = await testEngine(t, { conversation: { history } });
      const first = await ask("one");
      await ask("two", { sessionId: first.sessionId });
      await ask("three", { sessionId: first.sessionId });
      return provider.exchanges.map(({ prompt, context }) => ({ prompt, context }));
    }),
  );
  assert.deepEqual(seen[0], seen[1]);
});

test("[C3] a forgotten chain is rebuilt once from our store, with a warning, and goes on as a chain", async (t) => {
  const { ask, provider, engine } = await testEngine(t);
  const first = await ask("one", {
    activeFiles: [{ path: "a.ts", content: Buffer.from("let a"), sha256: null, isTouched: true }],
  });
  await ask("two", { sessionId: first.sessionId });
  provider.forget();
  const third = completed(await ask("three", { sessionId: first.sessionId }));
  assert.deepEqual(
    third.warnings.map(({ code }) => code),
    ["chain_rebuilt"],
  );
  assert.equal(third.manifest.history, "replay");
  const refusedCall = provider.exchanges.at(-2);
  const rebuilt = provider.exchanges.at(-1);
  assert.ok(refusedCall?.call.previousResponseId);
  assert.equal(rebuilt?.call.previousResponseId, null);
  assert.deepEqual(
    rebuilt.call.items.map((item) => item.type),
    ["user", "assistant", "user", "assistant", "user"],
  );
  assert.ok(JSON.stringify(rebuilt.call.items[0]).includes("=== FILE 1 ==="), "the files sent before are sent again");
  const steps = await (await engine.turns.read(alice, third.id)).steps();
  assert.deepEqual(
    steps.map(({ index, outcome }) => [index, outcome.status]),
    [
      [1, "failed"],
      [2, "completed"],
    ],
  );
  const fourth = completed(await ask("four", { sessionId: first.sessionId }));
  assert.deepEqual(fourth.warnings, []);
  assert.equal(provider.exchanges.at(-1)?.call.items.length, 1);
});

test("[C3] when the history cannot be read the turn fails; it never goes on with less", async (t) => {
  const { ask, engine, deps, provider } = await testEngine(t);
  const first = await ask("one");
  const second = await ask("two", { sessionId: first.sessionId });
  await replaceBlob(deps.blobs, second.blobs.state ?? "", Buffer.from('{"format":1,"turnId":"'));
  // Another process has no memory of the state.
  const other = await testEngine(t, { ...deps, runner: { ...deps.runner, id: newId() } });
  const third = await other.ask("three", { sessionId: first.sessionId });
  assert.equal(third.status, "failed");
  assert.equal(third.failures[0].code, "history_unavailable");
  assert.ok(third.failures[0].message.includes(second.blobs.state ?? "?"), third.failures[0].message);
  assert.equal(provider.exchanges.length, 2);
  assert.equal((await engine.sessions.get(alice, first.sessionId)).headTurnId, second.id);
});

test("[T12] a failed turn that did nothing keeps its error and is never a parent", async (t) => {
  let n = 0;
  const script = () => ((n += 1) === 2 ? [{ fails: "provider_rejected" as const }] : "fine");
  const { ask, engine } = await testEngine(t, { script });
  const first = await ask("one");
  const failed = await ask("two", { sessionId: first.sessionId });
  assert.equal(failed.status, "failed");
  assert.equal(failed.failures[0].code, "provider_rejected");
  assert.equal(failed.blobs.state, null);
  const third = completed(await ask("three", { sessionId: first.sessionId }));
  assert.equal(third.parentId, first.id);
  assert.equal(third.sequence, 3);
  assert.equal((await engine.sessions.get(alice, first.sessionId)).headTurnId, third.id);
});

test("[C7] what may succeed later is tried again, each try is a step, and the answer is shown once", async (t) => {
  let n = 0;
  const script = () => ((n += 1) < 3 ? [{ fails: "provider_rate_limited" as const, retryAfterMs: 1 }] : "at last");
  const { ask, engine, answer } = await testEngine(t, { script });
  const turn = completed(await ask("try"));
  assert.equal(await answer(turn.id), "at last");
  assert.deepEqual(
    turn.warnings.map(({ code }) => code),
    ["provider_retried", "provider_retried"],
  );
  assert.equal((await (await engine.turns.read(alice, turn.id)).steps()).length, 3);
});

test("[C7] quota, bad requests and refused content are not tried again; after output nothing is", async (t) => {
  for (const code of ["provider_quota_exhausted", "provider_rejected", "provider_refused_content"] as const) {
    const { ask, provider } = await testEngine(t, { script: () => [{ fails: code }] });
    const turn = await ask("try");
    assert.equal(turn.status === "failed" && turn.failures[0].code, code);
    assert.equal(provider.exchanges.length, 1);
  }
  const { ask, provider } = await testEngine(t, { script: () => [{ says: "some" }, { cuts: true }] });
  const turn = await ask("try");
  assert.equal(turn.status === "failed" && turn.failures[0].code, "provider_stream_cut");
  assert.equal(provider.exchanges.length, 1);
});

test("[C7] an answer that its output limit or a filter cut says so, and a limit that left nothing is a failure of its own", async (t) => {
  for (const [stops, warning, code] of [
    ["length", "answer_truncated", "output_limit_reached"],
    ["content_filter", "answer_filtered", "provider_refused_content"],
  ] as const) {
    const usage = { input: 10, output: 5, cached: 0, reasoning: 5, total: 15 };
    const script = (_call: unknown, n: number) =>
      n === 1 ? [{ says: "The first half" }, { stops }] : [{ thinks: "hm" }, { stops, usage }];
    const { ask, answer } = await testEngine(t, { script });
    const cut = await ask("try");
    assert.equal(cut.status === "completed" && cut.stopReason, stops);
    assert.deepEqual([cut.warnings.map((one) => one.code), await answer(cut.id)], [[warning], "The first half"]);
    const empty = await ask("again", { sessionId: cut.sessionId });
    assert.equal(empty.status === "failed" && empty.failures[0].code, code);
    assert.equal(empty.run.usage.total, 15);
  }
});

test("[T4] what a cut turn has used is unknown, never 0; what was reported before counts", async (t) => {
  const usage = { input: 100, output: 10, cached: 0, reasoning: 0, total: 110 };
  const look = { name: "look", parameters: { type: "object" } };
  const tool = { definition: look, needsApproval: () => false, run: async () => ({ output: "seen", isError: false }) };
  const { ask } = await testEngine(t, {
    tools: [tool],
    script: (_call, n) =>
      n === 1
        ? [{ says: "It" }, { cuts: true }]
        : n === 2
          ? [{ calls: "look" }, { stops: "tool_calls", usage }]
          : [{ says: "And" }, { cuts: true }],
  });
  const cut = await ask("try");
  assert.deepEqual([cut.run.usage.total, cut.run.usage.isPartial, cut.run.usage.costUsd], [0, true, undefined]);
  const later = await ask("try");
  assert.deepEqual([later.run.usage.total, later.run.usage.isPartial], [110, true]);
});

test("[C7] an answer of nothing is a failure", async (t) => {
  const { ask } = await testEngine(t, { script: () => [{ stops: "stop" as const }] });
  const turn = await ask("try");
  assert.equal(turn.status === "failed" && turn.failures[0].code, "provider_answer_invalid");
});

test("[T8] [V5] a call of a client's tool parks the turn; a plain continuation closes it with a result that says so", async (t) => {
  const tools = [{ name: "run_tests", parameters: { type: "object" } }];
  let n = 0;
  const script = () =>
    (n += 1) === 1 ? [{ calls: "run_tests", callId: "call_1", with: { all: true } }] : "understood";
  const { ask, provider, engine } = await testEngine(t, { script });
  const parked = await ask("test it", { tools });
  assert.equal(parked.status, "awaiting_tool_results");
  assert.deepEqual(parked.deferredCalls, [
    { callId: "call_1", name: "run_tests", arguments: '{"all":true}', waitsFor: "client" },
  ]);
  assert.equal((await engine.sessions.get(alice, parked.sessionId)).headTurnId, parked.id);
  const next = completed(await ask("never mind", { sessionId: parked.sessionId, tools }));
  assert.deepEqual(provider.exchanges[1]?.call.items[0], {
    type: "tool_result",
    callId: "call_1",
    output: "failed: no result",
    isError: true,
  });
  assert.deepEqual(
    next.warnings.map(({ code }) => code),
    ["open_calls_closed"],
  );
});

test("[T9] results for a parked turn make a new turn; unknown ids are refused and nothing runs", async (t) => {
  const tools = [{ name: "run_tests", parameters: { type: "object" } }];
  let n = 0;
  const script = () => ((n += 1) === 1 ? [{ calls: "run_tests", callId: "call_1" }] : "all green");
  const { ask, start, answer } = await testEngine(t, { script });
  const parked = await ask("test it", { tools });
  const wrong = [{ callId: "call_2", output: "x", isError: false }];
  await assert.rejects(
    start("", { sessionId: parked.sessionId, tools, toolResults: wrong }),
    hasCode("tool_feedback_invalid"),
  );
  const toolResults = [{ callId: "call_1", output: "12 passed", isError: false }];
  const next = completed(await ask("", { sessionId: parked.sessionId, tools, toolResults }));
  assert.equal(next.parentId, parked.id);
  assert.equal(await answer(next.id), "all green");
});

test("[E6] a changed boot prompt or tool list starts a new chain and says so", async (t) => {
  const { ask, provider } = await testEngine(t);
  const first = await ask("one");
  const second = await ask("two", {
    sessionId: first.sessionId,
    tools: [{ name: "new", parameters: { type: "object" } }],
  });
  assert.deepEqual(
    second.warnings.map(({ code }) => code),
    ["tools_changed", "chain_rebuilt"],
  );
  assert.equal(provider.exchanges[1]?.call.previousResponseId, null);
  assert.equal(provider.exchanges[1]?.call.items.length, 3);
});

test("[G2] [P4] where the context has open modes an unknown one counts as ask, with a warning; what would end the header is refused", async (t) => {
  const write = { name: "write_it", parameters: { type: "object" }, effect: "write" as const };
  const { start, provider } = await testEngine(t, { conversation: { openModes: true, tools: [write] } });
  const turn = await (await start("x", { mode: "deep dive/α" })).finished;
  assert.deepEqual([turn.status, turn.mode], ["completed", "deep dive/α"]);
  assert.deepEqual(
    turn.warnings.map(({ code }) => code),
    ["mode_not_known"],
  );
  assert.match(turn.warnings[0]?.message ?? "", /"deep dive\/α".*known are: .*"ask"/);
  assert.match(JSON.stringify(provider.exchanges[0]?.context.at(-1)), /\[MODE: deep dive\/α\]/);
  assert.doesNotMatch(JSON.stringify(provider.exchanges[0]?.call.allowedTools), /write_it/);
  const edit = await (await start("x", { mode: "edit" })).finished;
  assert.deepEqual(edit.warnings, []);
  for (const mode of ["a]", "a\nb", "", "x".repeat(65), "\u202e"]) {
    await assert.rejects(start("x", { mode }), hasCode("mode_unknown"));
  }
});

test("[G2] unknown contexts, modes and readers are refused by name, before anything is written", async (t) => {
  const { start, engine, deps } = await testEngine(t);
  const named = (code: ErrorCode) => hasCode(code, /"(default|ask)"/);
  await assert.rejects(start("x", { agentContextId: "nope" }), named("context_unknown"));
  await assert.rejects(start("x", { conversationContextId: "nope" }), named("context_unknown"));
  await assert.rejects(start("x", { mode: "nope" }), named("mode_unknown"));
  await assert.rejects(engine.turns.run({ ...alice, role: "reader" }, { instruction: "x" }), hasCode("forbidden"));
  await assert.rejects(start("x", { sessionId: newId() }), hasCode("not_found"));
  await assert.rejects(start("x", { sessionId: "../x" }), hasCode("not_found"));
  assert.deepEqual(await deps.blobs.list(""), []);
});

test("[T13] the same key and request give the same turn, also while it runs; another request is refused", async (t) => {
  const held = Promise.withResolvers<void>();
  const { start, provider } = await testEngine(t, { script: () => [{ says: ["so ", held.promise, "far"] }] });
  const first = await start("once", { idempotencyKey: "k" });
  const again = await start("once", { idempotencyKey: "k" });
  assert.deepEqual([again.turnId, again.isRepeat], [first.turnId, true]);
  await assert.rejects(start("other", { idempotencyKey: "k" }), hasCode("idempotency_key_reused"));
  held.resolve();
  assert.deepEqual(await again.finished, await first.finished);
  const late = await start("once", { idempotencyKey: "k" });
  assert.deepEqual(await all(late.events()), await all(first.events()));
  assert.equal((await late.finished).id, first.turnId);
  assert.equal(provider.exchanges.length, 1);
});

test("[T13] many at once with one key give one turn", async (t) => {
  const { start, provider } = await testEngine(t);
  const runs = await Promise.all(Array.from({ length: 8 }, () => start("once", { idempotencyKey: "k" })));
  assert.equal(new Set(runs.map((run) => run.turnId)).size, 1);
  assert.equal(runs.filter((run) => !run.isRepeat).length, 1);
  await Promise.all(runs.map((run) => run.finished));
  assert.equal(provider.exchanges.length, 1);
});

test("[T4] a turn holds what it was made of, in summaries and in full", async (t) => {
  const { ask, engine, provider } = await testEngine(t, { script: () => `long ${"answer ".repeat(400)}` });
  const instruction = `explain ${"more ".repeat(400)}`;
  const turn = completed(await ask(instruction, { mode: "edit" }));
  assert.equal(turn.instructionSummary.length, limits.summaryCharactersMax);
  assert.equal(turn.answerSummary.length, limits.summaryCharactersMax);
  assert.deepEqual([turn.mode, turn.provider, turn.model], ["edit", "scripted", "scripted-1"]);
  assert.ok(turn.chain.responseId && (turn.chain.expiresAt ?? 0) > Date.now());
  assert.equal(turn.run.modelRequests, 1);
  const reader = await engine.turns.read(alice, turn.id);
  assert.equal(await reader.instruction(), instruction);
  assert.equal(await reader.answer(), `long ${"answer ".repeat(400)}`.trimEnd() + " ");
  assert.deepEqual(await reader.message(), [`[MODE: edit]\n\n[INSTRUCTION]\n${instruction}`]);
  assert.equal((await reader.request(1)).toString(), provider.exchanges[0]?.request.body);
});

test("[S2] a session that was made without a name is named by its first instruction; a set name stays", async (t) => {
  const { ask, engine } = await testEngine(t);
  const blank = await engine.sessions.create(alice, {});
  await ask("Fix it\nplease", { sessionId: blank.id });
  await ask("another", { sessionId: blank.id });
  assert.equal((await engine.sessions.get(alice, blank.id)).name, "Fix it");
  const named = await engine.sessions.create(alice, { name: "mine" });
  await ask("Fix it", { sessionId: named.id });
  assert.equal((await engine.sessions.get(alice, named.id)).name, "mine");
});

test("[C7] an answer that never ends is ended at the limit, and the turn fails", async (t) => {
  const megabyte = "x".repeat(1_048_576);
  async function* endless() {
    yield { type: "started", responseId: null } as const;
    for (;;) yield { type: "bytes", bytes: Buffer.from(megabyte) } as const;
  }
  const { ask } = await testEngine(t, { script: () => endless() });
  const turn = await ask("go");
  assert.equal(turn.status === "failed" && turn.failures[0].code, "provider_answer_invalid");
});

test("[C7] [E6] what a failed attempt thought is no part of the history, whatever comes of the next one", async (t) => {
  for (const history of ["chain", "replay"] as const) {
    const script = (_call: unknown, n: number) =>
      n === 1
        ? [{ thinks: "in vain" }, { fails: "provider_unavailable" as const }]
        : [{ thinks: "well" }, { says: "so" }];
    const { ask, provider } = await testEngine(t, { script, conversation: { history } });
    const first = await ask("one");
    assert.equal(first.status, "completed");
    await ask("two", { sessionId: first.sessionId });
    const thoughts = provider.exchanges
      .at(-1)
      ?.context.flatMap((item) => (item.type === "reasoning" ? [item.text] : []));
    assert.deepEqual(thoughts, ["well"]);
  }
});

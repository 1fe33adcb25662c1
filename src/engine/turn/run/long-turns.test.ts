import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine, testRunner, type TestEngine } from "../../../../testing/engine.ts";
import { openToolCalls, type HistoryItem } from "../../../domain/history.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import type { ModelCall } from "../../../providers/provider.ts";
import { scriptedProvider, type ScriptedExchange, type ScriptedPart } from "../../../providers/scripted/scripted.ts";
import type { Tool } from "../../../tools/tool.ts";

const isSummaryCall = (call: ModelCall): boolean => call.prompt?.startsWith("You condense") === true;
const textOf = (items: readonly HistoryItem[]): string => JSON.stringify(items);
const codes = (turn: FinishedTurn): string[] => turn.warnings.map(({ code }) => code);

function reader(characters: number): Tool {
  return {
    definition: { name: "look", parameters: { type: "object" } },
    needsApproval: () => false,
    run: async ({ n }) => ({ output: `result ${n} ${"w".repeat(characters)}`, isError: false }),
  };
}

/** A model that looks `steps` times in each turn whose instruction says so, and then answers. */
function looking(steps: number) {
  let n = 0;
  let left = 0;
  return (call: ModelCall): ScriptedPart[] => {
    if (isSummaryCall(call)) return [{ says: "they looked at much" }];
    const last = textOf(call.items.slice(-1));
    if (last.includes("[INSTRUCTION]") && !last.includes("SUMMARY OF")) left = last.includes("look around") ? steps : 0;
    n += 1;
    if (left === 0) return [{ says: `done after ${n}` }];
    left -= 1;
    return [{ thinks: "hm" }, { says: "let me see" }, { calls: "look", with: { n }, callId: `c${n}` }];
  };
}

/** Checks what every provider demands: each call has its result, and each result its call. */
function checkPairs({ context, call }: ScriptedExchange): void {
  if (isSummaryCall(call)) return;
  assert.deepEqual(openToolCalls(context), []);
  const called = new Set(context.flatMap((item) => (item.type === "tool_call" ? [item.callId] : [])));
  for (const item of context) if (item.type === "tool_result") assert.ok(called.has(item.callId), item.callId);
  const orphans = context.filter((item, at) => item.type === "tool_call" && context[at - 1]?.type === "user");
  assert.deepEqual(orphans, [], "a step keeps its text and its reasoning");
}

/** A provider that refuses what has more characters. It remembers nothing if `history` is replay. */
function refusing(most: number, answer: (call: ModelCall) => ScriptedPart[], message?: string) {
  return (call: ModelCall): ScriptedPart[] =>
    textOf(call.items).length > most
      ? [{ fails: "context_window_exceeded", ...(message !== undefined && { message }) }]
      : answer(call);
}

test("[C6] a long turn is summarised between its steps, keeps its instruction, and the next turn goes on from there", async (t) => {
  for (const history of ["chain", "replay"] as const) {
    const engine = await testEngine(t, {
      script: looking(30),
      contextTokens: () => 2_000,
      tools: [reader(800)],
      conversation: { history },
    });
    const first = await engine.ask("look around, and mind the gap");
    assert.equal(first.status, "completed", JSON.stringify(first));
    assert.ok(codes(first).filter((code) => code === "history_compacted").length >= 2, codes(first).join());
    for (const exchange of engine.provider.exchanges) {
      checkPairs(exchange);
      assert.ok(textOf(exchange.context).length / 4 < 2_400, `${textOf(exchange.context).length} characters`);
      if (!isSummaryCall(exchange.call)) assert.ok(textOf(exchange.context).includes("mind the gap"));
    }
    const before = engine.provider.exchanges.length;
    const cold = await testEngine(t, { ...engine.deps, runner: testRunner() });
    const second = await cold.ask("and?", { sessionId: first.sessionId });
    assert.equal(second.status, "completed", JSON.stringify(second));
    const seen = engine.provider.exchanges.slice(before);
    seen.forEach(checkPairs);
    const context = textOf(seen.at(-1)?.context ?? []);
    assert.ok(context.includes("SUMMARY OF THE CONVERSATION") && context.includes("done after 31"), context);
    assert.ok(!context.includes("result 1 "), context);
    assert.equal((await cold.engine.explain.verify(cold.caller, first.sessionId)).fault, null);
  }
});

test("[C4] [C6] an overflow between two steps is summarised and sent again, whatever the window is", async (t) => {
  const { ask, provider } = await testEngine(t, {
    script: refusing(6_000, looking(20)),
    tools: [reader(800)],
    conversation: { history: "replay" },
  });
  const turn = await ask("look around");
  assert.equal(turn.status, "completed", JSON.stringify(turn));
  assert.ok(codes(turn).includes("history_compacted"));
  provider.exchanges.forEach(checkPairs);
});

test("[C6] a single past turn that is larger than the window of the next model is summarised", async (t) => {
  const first = await testEngine(t, { script: looking(25), tools: [reader(4_000)] });
  const long = await first.ask("look around");
  assert.equal(long.status, "completed");
  const small = scriptedProvider({ name: "small", script: refusing(16_000, looking(0)) });
  const both = await testEngine(t, {
    ...first.deps,
    runner: testRunner(),
    otherProviders: [small],
    agentContexts: [...first.deps.agentContexts, { id: "small", name: "Small", provider: "small", index: "local" }],
  });
  const next = await both.ask("and?", { sessionId: long.sessionId, agentContextId: "small" });
  assert.equal(next.status, "completed", JSON.stringify(next));
  small.exchanges.forEach(checkPairs);
  assert.ok(textOf(small.exchanges.at(-1)?.context ?? []).includes("they looked at much"));
});

const clientTool = [{ name: "look", parameters: { type: "object" } }];

/** Answers the calls of a client's tool, until the model calls no more. */
async function answerCalls({ ask }: TestEngine, first: FinishedTurn, characters: number): Promise<FinishedTurn> {
  let turn = first;
  while (turn.status === "awaiting_tool_results") {
    const callId = turn.deferredCalls[0]?.callId ?? "";
    const toolResults = [{ callId, output: "w".repeat(characters), isError: false }];
    turn = await ask("", { sessionId: first.sessionId, tools: clientTool, toolResults });
  }
  return turn;
}

test("[C6] [T8] a loop of a client's tools never wedges its session", async (t) => {
  for (const [history, window] of [
    ["chain", 2_000],
    ["replay", null],
  ] as const) {
    const engine = await testEngine(t, {
      script: refusing(window === null ? 6_000 : 1e9, looking(20)),
      contextTokens: () => window,
      conversation: { history },
    });
    const last = await answerCalls(engine, await engine.ask("look around", { tools: clientTool }), 800);
    assert.equal(last.status, "completed", JSON.stringify(last));
    const plain = await engine.ask("and?", { sessionId: last.sessionId });
    assert.equal(plain.status, "completed", JSON.stringify(plain));
    engine.provider.exchanges.forEach(checkPairs);
  }
});

test("[C6] a plain instruction gets through after one large result, which no model had room for", async (t) => {
  const engine = await testEngine(t, { script: refusing(6_000, looking(2)), conversation: { history: "replay" } });
  const last = await answerCalls(engine, await engine.ask("look around", { tools: clientTool }), 40_000);
  assert.equal(last.status, "completed", JSON.stringify(last));
  const plain = await engine.ask("and?", { sessionId: last.sessionId });
  assert.equal(plain.status, "completed", JSON.stringify(plain));
  engine.provider.exchanges.forEach(checkPairs);
});

test("[C7] a summary that fails for the moment is tried again", async (t) => {
  let summaries = 0;
  const answer = looking(20);
  const engine = await testEngine(t, {
    script: (call) => {
      if (!isSummaryCall(call)) return answer(call);
      summaries += 1;
      if (summaries === 1) return [{ fails: "provider_unavailable" }];
      return summaries === 2 ? [{ says: "half of" }, { cuts: true }] : [{ says: "whole" }];
    },
    contextTokens: () => 2_000,
    tools: [reader(800)],
  });
  const turn = await engine.ask("look around");
  assert.equal(turn.status, "completed", JSON.stringify(turn));
  assert.ok(codes(turn).includes("provider_retried"));
  const steps = await (await engine.engine.turns.read(engine.caller, turn.id)).steps();
  assert.equal(steps.filter(({ outcome }) => outcome.status === "failed").length, 2);
});

test("[C6] a window that the provider names in its error is remembered, so that it refuses only once", async (t) => {
  const message = "This model's maximum context length is 1500 tokens.";
  const { ask, provider } = await testEngine(t, {
    script: refusing(6_000, looking(12), message),
    tools: [reader(800)],
    conversation: { history: "replay" },
  });
  const first = await ask("look around");
  assert.equal(first.status, "completed", JSON.stringify(first));
  const refused = (): number => provider.exchanges.filter(({ call }) => textOf(call.items).length > 6_000).length;
  assert.equal(refused(), 1);
  for (let n = 0; n < 3; n += 1) {
    const next = await ask("look around", { sessionId: first.sessionId });
    assert.equal(next.status, "completed", JSON.stringify(next));
  }
  assert.equal(refused(), 1);
});

test("[C6] a window that an error does not name is looked up in the list of the provider's models, once", async (t) => {
  let lists = 0;
  const scripted = scriptedProvider({ script: refusing(6_000, looking(12)) });
  const provider = {
    ...scripted,
    models: async () => ((lists += 1), [{ id: "scripted-1", contextTokens: 1_500 }]),
  };
  const { ask } = await testEngine(t, { provider, tools: [reader(800)], conversation: { history: "replay" } });
  const first = await ask("look around");
  assert.equal(first.status, "completed", JSON.stringify(first));
  const next = await ask("look around", { sessionId: first.sessionId });
  assert.equal(next.status, "completed", JSON.stringify(next));
  const refused = scripted.exchanges.filter(({ call }) => textOf(call.items).length > 6_000);
  assert.deepEqual([refused.length, lists], [1, 1]);
});

test("[C6] what cannot fit is not summarised: an instruction larger than the window costs no call", async (t) => {
  const message = "This model's maximum context length is 1500 tokens.";
  const { ask, provider } = await testEngine(t, {
    script: refusing(6_000, looking(3), message),
    tools: [reader(100)],
    conversation: { history: "replay" },
  });
  const first = await ask("look around");
  const before = provider.exchanges.length;
  const turn = await ask("x".repeat(20_000), { sessionId: first.sessionId });
  assert.equal(turn.status === "failed" && turn.failures[0].code, "context_window_exceeded");
  assert.deepEqual(
    provider.exchanges.slice(before).filter(({ call }) => isSummaryCall(call)),
    [],
  );
  const next = await ask("look around", { sessionId: first.sessionId });
  assert.equal(next.status, "completed", JSON.stringify(next));
});

test("[T10] an interrupt while a summary is written keeps what the turn has", async (t) => {
  const summarising = Promise.withResolvers<void>();
  const answer = looking(20);
  const engine = await testEngine(t, {
    script: (call) => {
      if (!isSummaryCall(call)) return answer(call);
      summarising.resolve();
      return [{ waits: new Promise(() => {}) }];
    },
    contextTokens: () => 1_000,
    tools: [reader(1_600)],
  });
  const running = await engine.start("look around");
  await summarising.promise;
  await engine.engine.turns.interrupt(engine.caller, { turnId: running.turnId });
  const turn = await running.finished;
  assert.equal(turn.status === "completed" && turn.stopReason, "interrupted", JSON.stringify(turn));
});

test("[X3] [C6] a file that a summary between two steps hides is not sent again in that turn, and is with the next", async (t) => {
  const engine = await testEngine(t, { script: looking(30), contextTokens: () => 2_000, tools: [reader(800)] });
  const content = Buffer.from("export const answer = 42;\n");
  const activeFiles = [{ path: "answer.ts", content, sha256: null, isTouched: true }];
  const files = (exchange: ScriptedExchange | undefined): number =>
    textOf(exchange?.context ?? []).split("export const answer").length - 1;
  const first = await engine.ask("look around", { activeFiles });
  assert.ok(codes(first).includes("history_compacted"));
  const inTurn = engine.provider.exchanges.filter(({ call }) => !isSummaryCall(call)).map(files);
  assert.deepEqual([inTurn[0], inTurn.at(-1), Math.max(...inTurn)], [1, 0, 1]);
  const next = await engine.ask("and?", { sessionId: first.sessionId, activeFiles });
  assert.equal(next.manifest.activeFiles[0]?.wasSentToLLM, true);
  assert.equal(files(engine.provider.exchanges.at(-1)), 1);
});

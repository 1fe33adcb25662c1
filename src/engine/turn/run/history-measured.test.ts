import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine, type TestEngineOptions } from "../../../../testing/engine.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import type { ModelCall } from "../../../providers/provider.ts";
import type { ScriptedPart } from "../../../providers/scripted/scripted.ts";
import type { Tool } from "../../../tools/tool.ts";

function look(description = "Looks."): Tool {
  return {
    definition: { name: "look", description, parameters: { type: "object" } },
    needsApproval: () => false,
    run: async () => ({ output: "nothing new", isError: false }),
  };
}

const usageOf = (input: number) => ({ input, output: 100, cached: 0, reasoning: 0, total: input + 100 });

/** A model that calls a tool in all calls of the first turn but the last. Each call counts as `input` tokens. */
function looping(calls: number, input: number) {
  return (call: ModelCall, n: number): ScriptedPart[] => {
    if (call.prompt?.startsWith("You condense") === true) return [{ says: "summary" }];
    const usage = usageOf(input);
    if (n < calls)
      return [
        { calls: "look", with: { n }, callId: `c${n}` },
        { stops: "tool_calls", usage },
      ];
    return [{ says: `answer ${n}` }, { stops: "stop", usage }];
  };
}

const codes = (turn: FinishedTurn): string[] => turn.warnings.map(({ code }) => code);

async function toolTurnThenAnother(t: Parameters<typeof testEngine>[0], options: TestEngineOptions) {
  const engine = await testEngine(t, options);
  const first = await engine.ask("look around");
  assert.equal(first.status, "completed", JSON.stringify(first));
  const second = await engine.ask("and now?", { sessionId: first.sessionId });
  return { ...engine, first, second };
}

test("[C6] the size of a history is what the last call was given: a turn of 20 calls is not summarised by its sum", async (t) => {
  for (const history of ["chain", "replay"] as const) {
    const { second, provider } = await toolTurnThenAnother(t, {
      script: looping(20, 26_000),
      contextTokens: () => 400_000,
      tools: [look()],
      conversation: { history },
    });
    assert.equal(second.status, "completed", JSON.stringify(second));
    assert.deepEqual(codes(second), [], history);
    assert.equal(provider.exchanges.length, 21);
    const seen = JSON.stringify(provider.exchanges.at(-1)?.context);
    assert.ok(seen.includes("look around") && !seen.includes("SUMMARY"), seen.slice(0, 300));
  }
});

test("[V5] the limit of model calls in a turn is set by the context or by the request, and a turn that reaches it says so", async (t) => {
  const loops = { script: looping(100, 1_000), tools: [look()] };
  const { ask, provider } = await testEngine(t, { ...loops, conversation: { settings: { maxSteps: 3 } } });
  const first = await ask("look around");
  assert.equal(first.status === "completed" && first.stopReason, "step_limit");
  assert.deepEqual([provider.exchanges.length, codes(first)], [3, ["step_limit"]]);
  assert.match(first.warnings[0]?.message ?? "", /its limit of 3 model calls/);
  const second = await ask("go on", { sessionId: first.sessionId, settings: { maxSteps: 60 } });
  assert.deepEqual([provider.exchanges.length, second.manifest.settings.maxSteps], [63, 60]);
});

test("[C6] 32,000 tokens of tools and 17 calls do not wedge a session", async (t) => {
  const { second, ask } = await toolTurnThenAnother(t, {
    script: looping(17, 40_000),
    contextTokens: () => 128_000,
    tools: [look("word ".repeat(25_600))],
  });
  assert.equal(second.status, "completed", JSON.stringify(second));
  assert.deepEqual(codes(second), []);
  const third = await ask("and again?", { sessionId: second.sessionId });
  assert.deepEqual([third.status, codes(third)], ["completed", []]);
});

test("[C6] what the provider counted for the last call does count: a history that it finds large is summarised", async (t) => {
  const { second } = await toolTurnThenAnother(t, {
    script: looping(3, 26_000),
    contextTokens: () => 30_000,
    tools: [look()],
  });
  assert.equal(second.status, "completed", JSON.stringify(second));
  assert.deepEqual(codes(second), ["history_compacted"]);
});

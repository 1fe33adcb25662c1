import assert from "node:assert/strict";
import { test } from "node:test";
import { all, testEngine, testRunner } from "../../../../testing/engine.ts";
import { hasCode } from "../../../../testing/refusals.ts";
import type { HistoryItem } from "../../../domain/history.ts";
import { limits } from "../../../domain/limits.ts";
import { failure } from "../../../domain/errors.ts";
import { noUsage } from "../../../domain/usage.ts";
import type { ProviderEvent } from "../../../providers/provider.ts";
import { scriptedProvider, type ScriptedPart } from "../../../providers/scripted/scripted.ts";
import type { Tool, ToolResult } from "../../../tools/tool.ts";

type Run = Tool["run"];

function tool(name: string, run: Run, needsApproval = false): Tool {
  return { definition: { name, parameters: { type: "object" } }, needsApproval: () => needsApproval, run };
}

const textResult = (output: string): ToolResult => ({ output, isError: false });

/** A model that says these things, one after the other. */
function script(...answers: (string | ScriptedPart[])[]) {
  return (_call: unknown, n: number) => answers[n - 1] ?? "nothing more";
}

function results(items: readonly HistoryItem[]): [string, string, boolean][] {
  return items.flatMap((item) =>
    item.type === "tool_result" ? [[item.callId, item.output, item.isError === true] as [string, string, boolean]] : [],
  );
}

test("[V5] [T8] tools beside the engine run between model calls; each call is a step, and the history keeps both sides", async (t) => {
  for (const history of ["chain", "replay"] as const) {
    const tools = [tool("add", async ({ a, b }) => textResult(String(Number(a) + Number(b))))];
    const { ask, answer, engine, provider, caller } = await testEngine(t, {
      tools,
      conversation: { history },
      script: script(
        [
          { says: "Let me see." },
          { calls: "add", callId: "c1", with: { a: 1, b: 2 } },
          { calls: "add", callId: "c2", with: { a: 3, b: 4 } },
        ],
        [{ calls: "add", callId: "c3", with: { a: 3, b: 7 } }],
        "It is 10.",
      ),
    });
    const turn = await ask("add them up");
    assert.equal(turn.status, "completed");
    assert.equal(await answer(turn.id), "Let me see.\n\nIt is 10.");
    assert.equal(turn.finalMessage, "It is 10.");
    const seen = provider.exchanges.at(-1)?.context ?? [];
    assert.deepEqual(results(seen), [
      ["c1", "3", false],
      ["c2", "7", false],
      ["c3", "10", false],
    ]);
    const reader = await engine.turns.read(caller, turn.id);
    const steps = await reader.steps();
    assert.deepEqual(
      steps.map((step) => step.index),
      [1, 2, 3],
    );
    for (const [index, exchange] of provider.exchanges.entries()) {
      assert.equal(Buffer.from(await reader.request(index + 1)).toString(), exchange.request.body);
    }
    const next = await ask("and again", { sessionId: turn.sessionId });
    assert.equal(next.status, "completed");
    assert.deepEqual(next.warnings, []);
  }
});

test("[V5] a mixed batch runs the part that runs here once, keeps it, and waits for the rest", async (t) => {
  let runs = 0;
  const tools = [tool("here", async () => ((runs += 1), textResult("done here")))];
  const { ask, engine, caller, provider } = await testEngine(t, {
    tools,
    script: script(
      [
        { calls: "here", callId: "c1" },
        { calls: "there", callId: "c2" },
      ],
      "all done",
    ),
  });
  const client = [{ name: "there", parameters: { type: "object" } }];
  const parked = await ask("both", { tools: client });
  assert.equal(parked.status, "awaiting_tool_results");
  assert.deepEqual(
    parked.deferredCalls.map(({ callId, waitsFor }) => [callId, waitsFor]),
    [["c2", "client"]],
  );
  const toolResults = [{ callId: "c2", output: "done there", isError: false }];
  // An answer needs no instruction.
  const next = await engine.turns.run(caller, { sessionId: parked.sessionId, tools: client, toolResults });
  assert.equal((await next.finished).status, "completed");
  assert.equal(runs, 1);
  assert.deepEqual(results(provider.exchanges.at(-1)?.context ?? []), [
    ["c1", "done here", false],
    ["c2", "done there", false],
  ]);
});

test("[V5] [T9] a call that needs approval waits; allowed it runs before the model is called, denied or left out it is answered so", async (t) => {
  const answers = [
    { feedback: [{ callId: "c1", approved: true }], output: "written", isError: false, runs: 1 },
    {
      feedback: [{ callId: "c1", approved: false, reason: "not today" }],
      output: "denied: not today",
      isError: true,
      runs: 0,
    },
    { feedback: [], output: "denied: no response", isError: true, runs: 0 },
  ];
  for (const { feedback, output, isError, runs: expected } of answers) {
    let runs = 0;
    const tools = [tool("write", async () => ((runs += 1), textResult("written")), true)];
    const { ask, provider, engine, caller } = await testEngine(t, {
      tools,
      script: script([{ calls: "write", callId: "c1" }], "fine"),
    });
    const parked = await ask("write it");
    assert.equal(parked.status, "awaiting_tool_results");
    assert.equal(parked.deferredCalls[0]?.waitsFor, "approval");
    assert.equal(runs, 0);
    const next = await ask("go on", { sessionId: parked.sessionId, toolResults: feedback });
    assert.equal(next.status, "completed", JSON.stringify(next));
    assert.equal(runs, expected);
    const context = provider.exchanges.at(-1)?.context ?? [];
    assert.deepEqual(results(context), [["c1", output, isError]]);
    assert.deepEqual(
      context.map((item) => item.type),
      ["user", "tool_call", "tool_result", "user"],
    );
    const body = Buffer.from(await (await engine.turns.read(caller, next.id)).request(1)).toString();
    assert.equal(body, provider.exchanges.at(-1)?.request.body);
  }
});

test("[T9] a result for an approval, or an approval of a client's call, is refused", async (t) => {
  const { ask, start } = await testEngine(t, {
    tools: [tool("write", async () => textResult("x"), true)],
    script: script([{ calls: "write", callId: "c1" }]),
  });
  const parked = await ask("write");
  await assert.rejects(
    start("", { sessionId: parked.sessionId, toolResults: [{ callId: "c1", output: "mine", isError: false }] }),
    hasCode("tool_feedback_invalid", "approval"),
  );
});

test("[V5] a tool that throws, floods, is not there or is called with nonsense is an error result; the turn goes on", async (t) => {
  const tools = [
    tool("throws", async () => Promise.reject(new Error("broken inside"))),
    tool("floods", async () => textResult("x".repeat(50_000_000))),
    tool("binary", async () => textResult("\ud800\u0000")),
  ];
  const calls: ScriptedPart[] = [
    { calls: "throws", callId: "c1" },
    { calls: "floods", callId: "c2" },
    { calls: "missing", callId: "c3" },
    { calls: "throws", callId: "c4", with: "not json" },
    { calls: "throws", callId: "c5", with: "[1]" },
    { calls: "binary", callId: "c6" },
  ];
  const { ask, provider, reports } = await testEngine(t, { tools, script: script(calls, "I see.") });
  const turn = await ask("try them");
  assert.equal(turn.status, "completed");
  const [thrown, flood, missing, notJson, notObject, binary] = results(provider.exchanges[1]?.context ?? []);
  assert.deepEqual(thrown, ["c1", "failed: broken inside", true]);
  assert.ok((flood?.[1].length ?? 0) < limits.toolResultCharactersMax + 100 && flood?.[1].includes("left out"));
  assert.ok(missing?.[2] && missing[1].includes("there is no tool"));
  assert.ok(notJson?.[2] && notObject?.[2]);
  assert.equal(binary?.[1], "\uFFFD\u0000");
  assert.equal(reports.length, 1);
});

test("[V5] a tool that breaks its contract is an error result that names the tool and the contract; the turn goes on", async (t) => {
  const unasked = tool("unasked", async () => textResult("ran"));
  const tools = [
    tool("nothing", async () => undefined as unknown as ToolResult),
    tool("number", async () => ({ output: 42, isError: false }) as unknown as ToolResult),
    tool("content", async () => ({ ...textResult("x"), content: null }) as unknown as ToolResult),
    {
      ...unasked,
      needsApproval: () => {
        throw new Error("no approval");
      },
    },
    {
      ...tool("late", async () => textResult("ran")),
      needsApproval: (() => Promise.reject(new Error("late"))) as never,
    },
    tool("bare", async () => ({ output: "fine" }) as ToolResult),
  ];
  const calls = tools.map(({ definition: { name } }, n) => ({ calls: name, callId: `c${n}` }));
  const { start, provider, reports } = await testEngine(t, { tools, script: script(calls, "I see.") });
  const running = await start("try them");
  const events = await all(running.events());
  assert.equal((await running.finished).status, "completed");
  const run = "breaks its contract: `run` returns `output`, a text";
  const asks = "breaks its contract: `needsApproval` returns true or false, and throws nothing";
  const messages = [
    `the tool "nothing" ${run}`,
    `the tool "number" ${run}`,
    'the tool "content" breaks its contract: the `content` that `run` returns is a list',
    `the tool "unasked" ${asks}`,
    `the tool "late" ${asks}`,
  ];
  const expected = [...messages.map((message) => [`failed: ${message}`, true]), ["fine", false]];
  const shown = events.flatMap(({ event }) => (event.type === "tool_result" ? [[event.output, event.isError]] : []));
  const byText = (rows: unknown[][]) => rows.toSorted(([a], [b]) => String(a).localeCompare(String(b)));
  assert.deepEqual(byText(shown), byText(expected));
  assert.deepEqual(
    results(provider.exchanges[1]?.context ?? []).map(([, ...result]) => result),
    expected,
  );
  assert.deepEqual(reports.toSorted(), messages.toSorted());
});

test("[T10] [V5] a tool that hangs is ended by an interrupt, and by the limit of its time", async (t) => {
  const begun = Promise.withResolvers<void>();
  const aborted: boolean[] = [];
  const hangs: Run = async (_args, { signal }) => {
    signal.addEventListener("abort", () => aborted.push(true));
    begun.resolve();
    return await new Promise(() => {});
  };
  const first = await testEngine(t, {
    tools: [tool("hang", hangs)],
    script: script([{ calls: "hang", callId: "c1" }], "so"),
  });
  const running = await first.start("hang");
  await begun.promise;
  await first.engine.turns.interrupt(first.caller, { turnId: running.turnId });
  const turn = await running.finished;
  assert.equal(turn.status === "completed" && turn.stopReason, "interrupted");
  assert.deepEqual(aborted, [true]);
  const next = await first.ask("go on", { sessionId: running.sessionId });
  assert.deepEqual(results(first.provider.exchanges.at(-1)?.context ?? []), [
    ["c1", "interrupted: the call was stopped", true],
  ]);
  assert.equal(next.status, "completed");

  const timeUp = AbortSignal.abort();
  const late = await testEngine(t, {
    tools: [tool("hang", hangs)],
    deadline: () => timeUp,
    script: script([{ calls: "hang", callId: "c1" }], "so"),
  });
  assert.equal((await late.ask("hang")).status, "completed");
  assert.match(results(late.provider.exchanges[1]?.context ?? [])[0]?.[1] ?? "", /no result within/);
});

test("[V5] a model that repeats the same call gets an error, and a turn ends at its limit of model calls", async (t) => {
  let runs = 0;
  const tools = [tool("poll", async () => ((runs += 1), textResult("not yet")))];
  const { ask, provider } = await testEngine(t, { tools, script: (_call, n) => [{ calls: "poll", callId: `c${n}` }] });
  const turn = await ask("wait for it");
  assert.equal(turn.status === "completed" && turn.stopReason, "step_limit");
  assert.equal(runs, limits.repeatedCallsMax);
  assert.equal(provider.exchanges.length, limits.stepsPerTurnMax);
  assert.ok(turn.warnings.some(({ code }) => code === "step_limit"));
});

test("[E4] a forced tool is forced for the first call only, so its result can be answered", async (t) => {
  const { ask, provider } = await testEngine(t, {
    tools: [tool("look", async () => textResult("seen"))],
    script: script([{ calls: "look", callId: "c1" }], "done"),
  });
  const turn = await ask("look", { toolChoice: "look" });
  assert.equal(turn.status, "completed");
  assert.deepEqual(
    provider.exchanges.map(({ call }) => call.toolChoice),
    ["look", null],
  );
});

test("[V1] [V5] events of a turn with tools: each call's result comes before the next step", async (t) => {
  const { start } = await testEngine(t, {
    tools: [tool("look", async () => textResult("seen"))],
    script: script([{ calls: "look", callId: "c1" }], "done"),
  });
  const types = (await all((await start("look")).events())).map(({ event }) => event.type);
  assert.ok(types.indexOf("tool_result") > types.indexOf("tool_call_ended"));
  assert.ok(types.indexOf("tool_result") < types.lastIndexOf("step_started"));
});

test("[C3] [V5] a chain that is forgotten between two steps of a turn is rebuilt with all that the turn did", async (t) => {
  const engine = await testEngine(t, {
    tools: [tool("look", async () => (engine.provider.forget(), textResult("seen")))],
    script: script([{ calls: "look", callId: "c1" }], "done"),
  });
  const turn = await engine.ask("look");
  assert.equal(turn.status, "completed");
  assert.deepEqual(
    turn.warnings.map(({ code }) => code),
    ["chain_rebuilt"],
  );
  assert.deepEqual(
    engine.provider.exchanges.at(-1)?.call.items.map((item) => item.type),
    ["user", "tool_call", "tool_result"],
  );
});

test("[C5] thoughts of another provider are left out with a warning, also where a tool runs before the first call", async (t) => {
  const second = scriptedProvider({ name: "second" });
  const { ask, deps } = await testEngine(t, {
    tools: [tool("write", async () => textResult("written"), true)],
    script: script([{ thinks: "hm" }, { calls: "write", callId: "c1" }]),
  });
  const parked = await ask("write it");
  const other = await testEngine(t, {
    ...deps,
    runner: testRunner(),
    providers: new Map([["second", second]]),
    agentContexts: [{ id: "default", name: "Default", provider: "second", index: "local" }],
  });
  const toolResults = [{ callId: "c1", approved: true }];
  const next = await other.ask("", { sessionId: parked.sessionId, toolResults });
  assert.deepEqual(
    next.warnings.filter(({ code }) => code === "reasoning_dropped").map(({ message }) => message),
    ["1 reasoning items were left out: another provider or model wrote them, or nothing follows them"],
  );
  assert.ok(second.exchanges.at(-1)?.context.every((item) => item.type !== "reasoning"));
});

test("[C7] [V5] a call that broke off in the middle is not tried again: it would be shown as two calls", async (t) => {
  async function* cut(): AsyncGenerator<ProviderEvent> {
    yield { type: "tool_call_started", callId: "call_1", name: "look" };
    yield { type: "tool_call_delta", callId: "call_1", delta: '{"path":' };
    yield { type: "failed", failure: failure("provider_stream_cut", "cut"), retryAfterMs: null, usage: noUsage };
  }
  const { start, provider } = await testEngine(t, { script: () => cut() });
  const running = await start("look");
  const events = await all(running.events());
  const turn = await running.finished;
  assert.equal(turn.status === "failed" && turn.failures[0].code, "provider_stream_cut");
  assert.equal(provider.exchanges.length, 1);
  assert.equal(events.filter(({ event }) => event.type === "tool_call_started").length, 1);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { all, testEngine } from "../../../../testing/engine.ts";
import type { TurnEvent } from "../../../domain/events.ts";
import { hasCode } from "../../../../testing/refusals.ts";
import { limits } from "../../../domain/limits.ts";
import type { ToolCallView, ToolEffect } from "../../../domain/tool.ts";
import type { ScriptedPart } from "../../../providers/scripted/scripted.ts";
import type { Tool, ToolContext, ToolResult } from "../../../tools/tool.ts";
import type { ApprovalAnswer, ApprovalQuestion, RunningTurn } from "../../engine.ts";

interface Given {
  effect?: ToolEffect;
  asks?: boolean;
  view?: ToolCallView;
  run?: (args: Record<string, unknown>, context: ToolContext) => Promise<ToolResult>;
}

const textResult = (output: string): ToolResult => ({ output, isError: false });

function tool(
  name: string,
  { effect, asks = false, view, run = async () => textResult(`${name} done`) }: Given = {},
): Tool {
  return {
    definition: { name, parameters: { type: "object" }, ...(effect !== undefined && { effect }) },
    needsApproval: () => asks,
    run,
    ...(view !== undefined && { view: () => view }),
  };
}

const view: ToolCallView = {
  title: "Edit a.ts",
  kind: "edit",
  locations: [{ path: "/p/a.ts" }],
  content: [{ type: "diff", path: "/p/a.ts", oldText: "a", newText: "b" }],
  permission: { key: "write /p", label: "change files in /p" },
};

function script(...answers: (string | ScriptedPart[])[]) {
  return (_call: unknown, n: number) => answers[n - 1] ?? "nothing more";
}

async function eventsOf(turn: RunningTurn): Promise<TurnEvent[]> {
  return (await all(turn.events())).map(({ event }) => event);
}

function resultOf(events: readonly TurnEvent[], callId: string): string | undefined {
  return events.flatMap((event) => (event.type === "tool_result" && event.callId === callId ? [event.output] : []))[0];
}

test("[V5] [P4] a call that needs approval is shown, asked about at once, and runs only when it was allowed", async (t) => {
  for (const [answer, output] of [
    [{ approved: true }, "edit done"],
    [{ approved: false, reason: "not this file" }, "denied: not this file"],
    [{ approved: false }, "denied: the user did not allow this call"],
  ] satisfies [ApprovalAnswer, string][]) {
    const questions: ApprovalQuestion[] = [];
    let runs = 0;
    const run = async (): Promise<ToolResult> => ((runs += 1), { ...textResult("edit done"), content: view.content });
    const { start } = await testEngine(t, {
      script: script([{ calls: "edit", callId: "c1", with: { path: "a.ts" } }], "fine"),
    });
    const turn = await start("change it", {
      mode: "edit",
      ownTools: [tool("edit", { effect: "write", asks: true, view, run })],
      askApproval: async (question) => (questions.push(question), answer),
    });
    const events = await eventsOf(turn);
    assert.equal((await turn.finished).status, "completed");
    assert.equal(runs, answer.approved ? 1 : 0);
    assert.deepEqual(
      questions.map(({ callId, name, args, view: shown }) => ({ callId, name, args, shown })),
      [{ callId: "c1", name: "edit", args: { path: "a.ts" }, shown: view }],
    );
    assert.equal(resultOf(events, "c1"), output);
    const order = events.map(({ type }) => type).filter((type) => type.startsWith("tool_"));
    assert.deepEqual(order.slice(-2), ["tool_call_view", "tool_result"]);
    const result = events.find((event) => event.type === "tool_result");
    assert.deepEqual(
      result?.type === "tool_result" ? result.content : null,
      answer.approved ? view.content : undefined,
    );
  }
});

test("[V5] if no person can be asked, the call waits as before", async (t) => {
  const { ask } = await testEngine(t, { script: script([{ calls: "edit", callId: "c1" }]) });
  const turn = await ask("change it", { mode: "edit", ownTools: [tool("edit", { effect: "write", asks: true })] });
  assert.equal(turn.status, "awaiting_tool_results");
});

test("[T10] [P4] an unanswered question ends with the turn, and the call does not run", async (t) => {
  const asked = Promise.withResolvers<ApprovalQuestion>();
  let runs = 0;
  const { engine, caller, start } = await testEngine(t, { script: script([{ calls: "edit", callId: "c1" }]) });
  const turn = await start("change it", {
    mode: "edit",
    ownTools: [tool("edit", { effect: "write", asks: true, run: async () => ((runs += 1), textResult("x")) })],
    askApproval: (question) => (asked.resolve(question), new Promise(() => {})),
  });
  const { signal } = await asked.promise;
  await engine.turns.interrupt(caller, { turnId: turn.turnId });
  const finished = await turn.finished;
  assert.equal(finished.status === "completed" && finished.stopReason, "interrupted");
  assert.ok(signal.aborted);
  assert.equal(runs, 0);
});

test("[V5] [P4] an answer that is none denies the call, and the model and the operator get the contract", async (t) => {
  for (const name of ["askApproval", "decideApproval"] as const) {
    let runs = 0;
    const { start, reports } = await testEngine(t, { script: script([{ calls: "edit", callId: "c1" }], "fine") });
    const nothing = { [name]: (async () => undefined) as unknown as () => Promise<null> };
    const turn = await start("change it", {
      mode: "edit",
      ownTools: [tool("edit", { effect: "write", asks: true, run: async () => ((runs += 1), textResult("x")) })],
      askApproval: async () => null,
      ...nothing,
    });
    const events = await eventsOf(turn);
    assert.equal((await turn.finished).status, "completed");
    assert.equal(runs, 0);
    const fault = `the function \`${name}\` breaks its contract: it returns \`approved\`, true or false, or null`;
    assert.equal(resultOf(events, "c1"), `${name === "askApproval" ? "denied" : "failed"}: ${fault}`);
    assert.equal(reports.length, 1);
  }
});

test("[G2] [P4] in mode ask nothing is written or run, whatever the model calls; other tools are", async (t) => {
  const ran: string[] = [];
  const named = (name: string, effect?: ToolEffect): Tool =>
    tool(name, { ...(effect !== undefined && { effect }), run: async () => (ran.push(name), textResult(name)) });
  const calls = ["read", "write", "run", "other"].map((name): ScriptedPart => ({ calls: name, callId: name }));
  const { start, provider } = await testEngine(t, { script: script(calls, "fine") });
  const ownTools = [named("read", "read"), named("write", "write"), named("run", "run"), named("other")];
  const turn = await start("look", { ownTools });
  const events = await eventsOf(turn);
  assert.deepEqual(ran, ["read", "other"]);
  assert.match(resultOf(events, "write") ?? "", /mode "ask" does not allow the tool "write"; it allows: read, other/);
  assert.deepEqual(provider.exchanges[0]?.call.allowedTools, ["read", "other"]);
  assert.deepEqual(
    provider.exchanges[0]?.call.tools.map(({ name }) => name),
    ["read", "write", "run", "other"],
  );
});

test("[E5] what a tool may do is no part of the list that the provider remembers", async (t) => {
  const { ask, provider } = await testEngine(t);
  const first = await ask("one", { ownTools: [tool("read")] });
  const second = await ask("two", { sessionId: first.sessionId, ownTools: [tool("read", { effect: "read" })] });
  assert.deepEqual(second.warnings, []);
  assert.notEqual(provider.exchanges[1]?.call.previousResponseId, null);
});

test("[V5] calls that read run side by side; one that changes something runs alone, in the order of the calls", async (t) => {
  const log: string[] = [];
  const bothRead = Promise.withResolvers<void>();
  let reading = 0;
  const read = tool("read", {
    effect: "read",
    run: async () => {
      reading += 1;
      if (reading === 2) bothRead.resolve();
      await bothRead.promise;
      log.push("read");
      return textResult("read");
    },
  });
  const write = (name: string): Tool =>
    tool(name, {
      effect: "write",
      run: async () => {
        log.push(`${name} begins`);
        await Promise.resolve();
        log.push(`${name} ends`);
        return textResult(name);
      },
    });
  const calls = ["read", "read", "first", "second"].map((name, n): ScriptedPart => ({ calls: name, callId: `c${n}` }));
  const { ask } = await testEngine(t, { script: script(calls, "fine") });
  await ask("go", { mode: "edit", ownTools: [read, write("first"), write("second")] });
  assert.deepEqual(log, ["read", "read", "first begins", "first ends", "second begins", "second ends"]);
});

test("[P5] [D3] an output that is too long for the model is kept whole, and can be had in this turn and in later ones", async (t) => {
  const whole = `begin ${"é".repeat(2 * limits.toolResultCharactersMax)} end`;
  const got: (string | null)[] = [];
  const again = tool("again", {
    run: async ({ of }, { readOutput }) => (got.push(await readOutput(String(of))), textResult("had")),
  });
  const flood = tool("flood", { run: async () => textResult(whole) });
  const { start, ask, engine, caller } = await testEngine(t, {
    script: script(
      [{ calls: "flood", callId: "c1" }],
      [{ calls: "again", callId: "c2", with: { of: "c1" } }],
      "done",
      [
        { calls: "again", callId: "c3", with: { of: "c1" } },
        { calls: "again", callId: "c4", with: { of: "c2" } },
      ],
      "done",
    ),
  });
  const turn = await start("go", { ownTools: [flood, again] });
  const shown = resultOf(await eventsOf(turn), "c1") ?? "";
  assert.ok(shown.length < whole.length && shown.includes("the whole output is kept as output:c1"));
  const later = await ask("more", { sessionId: turn.sessionId, ownTools: [flood, again] });
  assert.equal(later.status, "completed");
  assert.deepEqual(got, [whole, whole, null]);
  const reader = await engine.turns.read(caller, turn.turnId);
  assert.equal(await reader.output("c1"), whole);
  assert.equal(await reader.output("c2"), "had");
  await assert.rejects(reader.output("c3"), hasCode("not_found"));
  const lines = await all(engine.transfer.export(caller, { sessionId: turn.sessionId }));
  const other = await testEngine(t);
  await other.engine.transfer.import(
    other.caller,
    (async function* () {
      yield* lines;
    })(),
  );
  const exported = await all(other.engine.transfer.export(other.caller, { sessionId: turn.sessionId }));
  assert.equal(JSON.stringify(exported).includes(JSON.stringify(whole).slice(1, -1)), true);
});

test("[V1] what a call shows while it runs is an event, bounded, and ends with its result", async (t) => {
  const chatty = tool("chatty", {
    run: async (_args, { showOutput }) => {
      for (let n = 0; n < 100; n += 1) showOutput("x".repeat(1_000));
      return textResult("done");
    },
  });
  const { start } = await testEngine(t, { script: script([{ calls: "chatty", callId: "c1" }], "fine") });
  const turn = await start("go", { ownTools: [chatty] });
  const events = await eventsOf(turn);
  const shown = events.flatMap((event) => (event.type === "tool_output_delta" ? [event.delta] : [])).join("");
  assert.equal(shown, "x".repeat(limits.toolShownCharactersMax));
  assert.equal(events.at(-1)?.type, "run_finished");
});

test("[V1] [T11] what a call shows after its result reaches no listener", async (t) => {
  let late: (text: string) => void = () => assert.fail("the call did not run");
  const chatty = tool("chatty", { run: async (_args, { showOutput }) => ((late = showOutput), textResult("done")) });
  const { start, deps } = await testEngine(t, {
    script: (_call, n) => {
      if (n === 1) return [{ calls: "chatty", callId: "c1" }];
      late("between the steps");
      return "fine";
    },
  });
  const turn = await start("go", { ownTools: [chatty] });
  await turn.finished;
  late("after the end");
  const events = await eventsOf(turn);
  assert.equal(events.filter(({ type }) => type === "tool_output_delta").length, 0);
  assert.equal(await deps.log.read(turn.turnId, 0), null);
});

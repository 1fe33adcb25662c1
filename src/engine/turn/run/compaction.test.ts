import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine, testRunner, type TestEngine } from "../../../../testing/engine.ts";
import type { HistoryItem } from "../../../domain/history.ts";
import { historyItems } from "../../../domain/lineage.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import type { ModelCall } from "../../../providers/provider.ts";
import { scriptedProvider, type ScriptedPart } from "../../../providers/scripted/scripted.ts";
import { Histories } from "../kept/histories.ts";

const isSummaryCall = (call: ModelCall): boolean => call.prompt?.startsWith("You condense") === true;

/** A model that summarises when it is asked to, and else gives long answers. */
const script = (call: ModelCall, n: number): string | ScriptedPart[] =>
  isSummaryCall(call) ? `summary made by call ${n}` : `answer ${n} ${"word ".repeat(60)}`;

/** Tokens of a window that a handful of such turns fills. */
const contextTokens = (): number => 800;

async function converse({ ask }: TestEngine, turns: number): Promise<FinishedTurn[]> {
  const made: FinishedTurn[] = [];
  for (let n = 1; n <= turns; n += 1) {
    const sessionId = made[0]?.sessionId;
    made.push(await ask(`question ${n}`, sessionId === undefined ? {} : { sessionId }));
  }
  return made;
}

function texts(items: readonly HistoryItem[]): string {
  return JSON.stringify(items);
}

test("[C6] near the window the oldest turns are replaced by a summary in what the model gets; the store keeps everything", async (t) => {
  for (const history of ["chain", "replay"] as const) {
    const engine = await testEngine(t, { script, contextTokens, conversation: { history } });
    const turns = await converse(engine, 16);
    for (const turn of turns) assert.equal(turn.status, "completed", JSON.stringify(turn));
    const compacted = turns.filter((turn) => turn.warnings.some(({ code }) => code === "history_compacted"));
    assert.ok(compacted.length >= 2, `${compacted.length} compactions (${history})`);
    for (const { context } of engine.provider.exchanges) {
      assert.ok(
        texts(context).length / 4 < 1.2 * contextTokens(),
        `${texts(context).length} characters were seen (${history})`,
      );
    }
    const last = engine.provider.exchanges.at(-1)?.context ?? [];
    assert.ok(texts(last).includes("SUMMARY OF THE CONVERSATION") && !texts(last).includes('question 1"'));
    const state = await new Histories(engine.deps.blobs, engine.deps.records).state(turns.at(-1)?.id ?? "");
    assert.equal(historyItems(state).length, 32);
    const summary = state.entries.findLast((entry) => entry.summary !== undefined)?.summary;
    assert.equal(turns[(summary?.throughDepth ?? 0) - 1]?.id, summary?.throughTurnId);
  }
});

test("[C6] a turn that wants it has the whole history summarised first, however short it is; later turns continue from there", async (t) => {
  for (const history of ["chain", "replay"] as const) {
    const engine = await testEngine(t, { script, conversation: { history } });
    const [first] = await converse(engine, 3);
    const sessionId = first?.sessionId ?? "";
    const asked = await engine.ask("go on", { sessionId, compact: true });
    assert.deepEqual(
      asked.warnings.map(({ code }) => code).filter((code) => code === "history_compacted"),
      ["history_compacted"],
    );
    const seen = texts(engine.provider.exchanges.at(-1)?.context ?? []);
    assert.ok(seen.includes("summary made by") && !seen.includes("question 3") && seen.includes("go on"), seen);
    const calls = engine.provider.exchanges.length;
    await engine.ask("and on", { sessionId });
    assert.equal(engine.provider.exchanges.length, calls + 1);
    const later = texts(engine.provider.exchanges.at(-1)?.context ?? []);
    assert.ok(later.includes("summary made by") && !later.includes("question 3") && later.includes("go on"), later);
    const alone = await engine.ask("begin", { compact: true });
    assert.deepEqual([alone.status, alone.warnings], ["completed", []]);
  }
});

test("[C6] [D3] the call for a summary is a step whose request and response read back, and its text is no part of the answer", async (t) => {
  const engine = await testEngine(t, { script, contextTokens });
  const turns = await converse(engine, 12);
  const turn = turns.find(({ warnings }) => warnings.some(({ code }) => code === "history_compacted")) ?? assert.fail();
  const cold = await testEngine(t, { ...engine.deps, runner: testRunner() });
  const reader = await cold.engine.turns.read(cold.caller, turn.id);
  const steps = await reader.steps();
  assert.ok(steps.length >= 2);
  const bodies = new Set(engine.provider.exchanges.map((exchange) => exchange.request.body));
  for (const { index } of steps) assert.ok(bodies.has(Buffer.from(await reader.request(index)).toString()));
  assert.ok(!(await reader.answer()).includes("summary made by"));
  assert.ok(
    Buffer.from(await reader.response(1))
      .toString()
      .includes("summary made by"),
  );
});

test("[C6] [T8] a summary never ends between a call and its result", async (t) => {
  const tools = [{ name: "look", parameters: { type: "object" } }];
  let n = 0;
  const calling = (call: ModelCall): string | ScriptedPart[] => {
    if (isSummaryCall(call)) return "summary";
    n += 1;
    return n % 2 === 1
      ? [{ says: "word ".repeat(60) }, { calls: "look", callId: `c${n}` }]
      : `seen ${"word ".repeat(60)}`;
  };
  const { ask, provider } = await testEngine(t, {
    script: calling,
    contextTokens,
    conversation: { history: "replay" },
  });
  let sessionId: string | undefined;
  for (let turn = 0; turn < 10; turn += 1) {
    const parked = await ask(`look ${turn}`, { tools, ...(sessionId !== undefined && { sessionId }) });
    assert.equal(parked.status, "awaiting_tool_results", JSON.stringify(parked));
    sessionId = parked.sessionId;
    const callId = parked.deferredCalls[0]?.callId ?? "";
    const done = await ask("", {
      sessionId,
      tools,
      toolResults: [{ callId, output: `result ${turn}`, isError: false }],
    });
    // The scripted provider refuses a call without its result, and a result without its call is counted here.
    assert.equal(done.status, "completed", JSON.stringify(done));
  }
  for (const { context } of provider.exchanges) {
    const called = new Set(context.flatMap((item) => (item.type === "tool_call" ? [item.callId] : [])));
    for (const item of context) if (item.type === "tool_result") assert.ok(called.has(item.callId), item.callId);
  }
});

test("[C4] a provider that says that the history is too long gets it summarised, once; without history the turn fails", async (t) => {
  const refusing = (call: ModelCall): string | ScriptedPart[] => {
    if (isSummaryCall(call)) return "summary";
    return texts(call.items).length > 1_500 ? [{ fails: "context_window_exceeded" }] : `fine ${"word ".repeat(60)}`;
  };
  const engine = await testEngine(t, { script: refusing, conversation: { history: "replay" } });
  const turns = await converse(engine, 8);
  for (const turn of turns) assert.equal(turn.status, "completed", JSON.stringify(turn));
  assert.ok(turns.some(({ warnings }) => warnings.some(({ code }) => code === "history_compacted")));
  const tooLong = await engine.ask("x".repeat(2_000));
  assert.equal(tooLong.status === "failed" && tooLong.failures[0].code, "context_window_exceeded");
});

test("[C4] when the summary cannot be had the turn fails; nothing is cut", async (t) => {
  const failing = (call: ModelCall, n: number): string | ScriptedPart[] =>
    isSummaryCall(call) ? [{ fails: "provider_quota_exhausted" }] : script(call, n);
  const engine = await testEngine(t, { script: failing, contextTokens });
  const turns = await converse(engine, 12);
  const failed = turns.find((turn) => turn.status === "failed");
  assert.equal(failed?.status === "failed" && failed.failures[0].code, "provider_quota_exhausted");
  assert.match(failed?.status === "failed" ? failed.failures[0].message : "", /could not be summarised/);
});

test("[C5] a session goes on with another provider and back, with all its history", async (t) => {
  const first = await testEngine(t);
  const one = await first.ask("one");
  const other = scriptedProvider({
    name: "other",
    account: "elsewhere",
    model: "other-1",
    script: () => [{ thinks: "hm", opaque: { secret: 1 } }, { says: "from the other" }],
  });
  const agentContexts = [
    ...first.deps.agentContexts,
    { id: "other", name: "Other", provider: "other", index: "local" },
  ];
  const both = await testEngine(t, {
    ...first.deps,
    runner: testRunner(),
    otherProviders: [other],
    agentContexts,
  });
  const two = await both.ask("two", { sessionId: one.sessionId, agentContextId: "other" });
  assert.deepEqual([two.provider, two.model, two.status], ["other", "other-1", "completed"]);
  const three = await both.ask("three", { sessionId: one.sessionId, agentContextId: "default" });
  assert.equal(three.status, "completed", JSON.stringify(three));
  assert.ok(
    three.warnings.some(({ code, message }) => code === "chain_rebuilt" && message.includes("provider was other")),
  );
  const seen = first.provider.exchanges.at(-1)?.context ?? [];
  assert.deepEqual(
    seen.map((item) =>
      item.type === "user" ? item.parts[0]?.split("\n").at(-1) : item.type === "assistant" ? item.text : item.type,
    ),
    ["one", "answer 1", "two", "from the other", "three"],
  );
});

test("[C6] [X3] [Q4] a file that the summary hides is sent again with the turn that compacted, and the manifest says so", async (t) => {
  const engine = await testEngine(t, { script, contextTokens });
  const { ask, provider } = engine;
  const content = Buffer.from("export const answer = 42;\n");
  const activeFiles = [{ path: "answer.ts", content, sha256: null, isTouched: true }];
  const first = await ask("question 0", { activeFiles });
  const { sessionId } = first;
  const hasFile = (context: readonly HistoryItem[]): number => texts(context).split("export const answer").length - 1;
  let resent = 0;
  for (let n = 1; n <= 16; n += 1) {
    const turn = await ask(`question ${n}`, { sessionId, activeFiles });
    const context = provider.exchanges.at(-1)?.context ?? [];
    assert.equal(hasFile(context), 1, `turn ${n} has the file once`);
    const wasCompacted = turn.warnings.some(({ code }) => code === "history_compacted");
    const wasSent = turn.manifest.activeFiles[0]?.wasSentToLLM;
    assert.ok(wasCompacted || !wasSent, `turn ${n} sends nothing that the model has`);
    if (wasSent) resent += 1;
  }
  assert.ok(resent >= 1, "the first turn was summarised at some time");
  assert.equal((await engine.engine.explain.verify(engine.caller, sessionId)).fault, null);
});

test("[X3] a turn that only brings tool results tells the model of a file that changed", async (t) => {
  const { ask, provider } = await testEngine(t, {
    script: (_call, n) => (n === 1 ? [{ calls: "there", callId: "c1" }] : "fine"),
  });
  const tools = [{ name: "there", parameters: { type: "object" } }];
  const { sessionId } = await ask("go", { tools });
  const content = Buffer.from("changed");
  await ask("", {
    sessionId,
    tools,
    toolResults: [{ callId: "c1", output: "done", isError: false }],
    activeFiles: [{ path: "a.ts", content, sha256: null, isTouched: true }],
  });
  const context = provider.exchanges.at(-1)?.context ?? [];
  assert.deepEqual(
    context.map(({ type }) => type),
    ["user", "tool_call", "tool_result", "user"],
  );
  assert.match(texts(context.slice(-1)), /=== FILE 1 ===/);
});

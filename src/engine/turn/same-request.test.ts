/** What a rerun repeats (T7), and which tools a turn keeps from its parent (E4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, all, testEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import type { ModelCall } from "../../providers/provider.ts";
import type { ScriptedAnswer } from "../../providers/scripted/scripted.ts";

const runTests = { name: "run_tests", parameters: { type: "object" } };
const other = { name: "look", parameters: { type: "object" } };

function callsOnce(call: ModelCall): ScriptedAnswer {
  const text = JSON.stringify(call.items.at(-1));
  return text.includes("test it") ? [{ calls: "run_tests", with: {} }] : "fine";
}

test("[T7] a rerun repeats model, settings, tools, scope and language of the turn, unless the request says otherwise", async (t) => {
  const { ask, provider, engine } = await testEngine(t, { script: () => "fine" });
  await ask("root");
  const old = await ask("look", {
    model: "other-model",
    settings: { temperature: 0.3 },
    tools: [runTests],
    toolChoice: "run_tests",
    mode: "edit",
    language: "go",
    pathPrefixes: ["src"],
    repo: "r",
    ifNotIndexed: "warn",
  });
  const again = await ask("", { rerun: { turnId: old.id }, ifNotIndexed: "warn" });
  const [first, second] = provider.exchanges.slice(-2).map(({ call }) => call);
  for (const field of ["model", "settings", "tools", "toolChoice", "allowedTools"] as const) {
    assert.deepEqual(second?.[field], first?.[field], field);
  }
  assert.deepEqual([again.mode, again.repo, again.model], ["edit", "r", "other-model"]);
  const changed = await ask("", {
    rerun: { turnId: old.id },
    model: "third",
    settings: { maxOutputTokens: 9 },
    ifNotIndexed: "warn",
  });
  assert.equal(changed.model, "third");
  assert.deepEqual(changed.manifest.settings, { temperature: 0.3, maxOutputTokens: 9 });
  const bare = await ask("", { rerun: { turnId: old.id }, tools: [], toolChoice: "nothing" }).catch(
    (error: unknown) => error,
  );
  assert.ok(hasCode("tool_choice_unknown")(bare));
  const third = await ask("", { rerun: { turnId: again.id }, ifNotIndexed: "warn" });
  const reader = await engine.turns.read(alice, third.id);
  assert.equal(await reader.instruction(), "look", "the rerun of a rerun repeats the same");
});

test("[E4] a follow-up without tools keeps those of its parent; they may be called only by who offers or answers", async (t) => {
  const { ask, provider } = await testEngine(t, { script: callsOnce });
  const waiting = await ask("test it", { tools: [runTests] });
  assert.ok(waiting.status === "awaiting_tool_results");
  const { sessionId } = waiting;
  const callId = waiting.deferredCalls[0]?.callId ?? "";
  await ask("", { sessionId, toolResults: [{ callId, output: "passed", isError: false }] });
  const answered = provider.exchanges.at(-1)?.call;
  assert.deepEqual([answered?.tools, answered?.allowedTools], [[runTests], null]);
  assert.notEqual(answered?.previousResponseId, null, "the chain continues, so the history is not sent again");
  const plain = await ask("and then?", { sessionId });
  const listed = provider.exchanges.at(-1)?.call;
  assert.deepEqual([listed?.tools, listed?.allowedTools], [[runTests], []]);
  assert.notEqual(listed?.previousResponseId, null);
  const fork = await ask("elsewhere", { fork: { turnId: plain.id } });
  assert.deepEqual(provider.exchanges.at(-1)?.call.tools, [runTests]);
  await ask("mine", { sessionId: fork.sessionId, tools: [other] });
  assert.deepEqual(provider.exchanges.at(-1)?.call.tools, [other]);
  await ask("none", { sessionId: fork.sessionId, tools: [] });
  assert.deepEqual(provider.exchanges.at(-1)?.call.tools, []);
  await ask("still none", { sessionId: fork.sessionId });
  assert.deepEqual(provider.exchanges.at(-1)?.call.tools, []);
});

test("[E4] [D2] the tools of a client are stored once for all turns that keep them, and go with an export", async (t) => {
  const here = await testEngine(t, { script: () => "fine" });
  const big = { ...runTests, description: "x".repeat(5_000) };
  const first = await here.ask("one", { tools: [big] });
  for (const next of ["two", "three", "four"]) await here.ask(next, { sessionId: first.sessionId, tools: [big] });
  let holding = 0;
  for (const key of await here.deps.blobs.list("turns/")) {
    if (key.endsWith("/opening.json") && Buffer.from((await here.deps.blobs.get(key)) ?? "").includes('"tools":['))
      holding += 1;
  }
  assert.ok(holding <= 2, `${holding} openings hold the tools`);
  const lines = await all(here.engine.transfer.export(alice, { sessionId: first.sessionId }));
  const there = await testEngine(t, { script: () => "fine" });
  await there.engine.transfer.import(
    alice,
    (async function* () {
      yield* lines;
    })(),
  );
  await there.ask("five", { sessionId: first.sessionId });
  assert.deepEqual(there.provider.exchanges.at(-1)?.call.tools, [big]);
});

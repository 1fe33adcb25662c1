/** the earlier items of a request, and what counts for one turn alone (O4, O5). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { builtInBootPrompt } from "../../domain/context.ts";
import type { HistoryItem, ConversationItem } from "../../domain/history.ts";

const given: ConversationItem[] = [
  { type: "system", text: "Be brief." },
  { type: "user", text: "one" },
  { type: "tool_call", callId: "c1", name: "look", arguments: "{}" },
  { type: "tool_result", callId: "c1", output: "seen" },
  { type: "assistant", text: "first" },
];

const asHistory: HistoryItem[] = [
  { type: "user", parts: ["[SYSTEM]\nBe brief."] },
  { type: "user", parts: ["[MODE: ask]\n\n[INSTRUCTION]\none"] },
  { type: "tool_call", callId: "c1", name: "look", arguments: "{}" },
  { type: "tool_result", callId: "c1", output: "seen" },
  { type: "assistant", text: "first" },
];

test("[O5] the earlier items is history for the model, in this turn and in later ones", async (t) => {
  const { ask, provider, engine } = await testEngine(t, { remembers: false });
  const first = await ask("two", { earlier: given });
  assert.deepEqual(provider.exchanges[0]?.call.items.slice(0, -1), asHistory);
  await ask("three", { sessionId: first.sessionId });
  assert.deepEqual(provider.exchanges[1]?.call.items.slice(0, 5), asHistory);
  const reader = await engine.turns.read(alice, first.id);
  const { earlier } = await reader.asked();
  assert.equal(earlier.length, given.length);
  assert.deepEqual(Buffer.from(await reader.request(1)).toString(), provider.exchanges[0].request.body);
});

test("[O5] [K3] the earlier items is stored once in the opening, and the request refers to it", async (t) => {
  const { ask, deps, provider } = await testEngine(t, { remembers: false });
  const long = Array.from({ length: 50 }, (_, index): ConversationItem[] => [
    { type: "user", text: `question ${index} `.repeat(40) },
    { type: "assistant", text: `answer ${index} `.repeat(40) },
  ]).flat();
  const turn = await ask("now", { earlier: long });
  const bytes = (await deps.blobs.get(turn.blobs.opening))?.byteLength ?? 0;
  const body = provider.exchanges[0]?.request.body.length ?? 0;
  assert.ok(bytes < body * 1.4, `${bytes} bytes for a request of ${body}`);
});

test("[O5] [T8] a result without its call is refused; a call without a result is closed with one that says so", async (t) => {
  const { ask, start, provider } = await testEngine(t);
  const stray: ConversationItem[] = [{ type: "tool_result", callId: "c9", output: "x" }];
  await assert.rejects(start("now", { earlier: stray }), hasCode("earlier_invalid", /c9/));
  await ask("now", {
    earlier: [
      { type: "user", text: "one" },
      { type: "tool_call", callId: "c1", name: "f", arguments: "{}" },
    ],
  });
  assert.deepEqual(provider.exchanges[0]?.call.items[2], {
    type: "tool_result",
    callId: "c1",
    output: "failed: no result",
    isError: true,
  });
});

test("[O5] a rerun brings again the earlier items", async (t) => {
  const { ask, provider } = await testEngine(t, { remembers: false });
  const first = await ask("two", { earlier: given, instructions: "Rhyme." });
  await ask("", { rerun: { turnId: first.id } });
  const [once, again] = provider.exchanges;
  assert.deepEqual(again?.call.items, once?.call.items);
  assert.equal(again?.prompt, once?.prompt);
});

test("[O4] instructions count for one turn, and replace the built-in boot prompt only", async (t) => {
  const { ask, provider, engine } = await testEngine(t, { conversation: { bootPrompt: builtInBootPrompt } });
  const first = await ask("one", { instructions: "Rhyme." });
  const second = await ask("two", { sessionId: first.sessionId, instructions: "" });
  assert.match(provider.exchanges[0]?.call.prompt ?? "", /^Rhyme\./);
  assert.doesNotMatch(provider.exchanges[1]?.call.prompt ?? "", /Rhyme|careful software engineer/);
  const asked = async (id: string) => (await (await engine.turns.read(alice, id)).asked()).instructions;
  assert.equal(await asked(first.id), "Rhyme.");
  assert.equal(await asked(second.id), "");
  const configured = await testEngine(t, { conversation: { bootPrompt: "House rules." } });
  await configured.ask("one", { instructions: "Rhyme." });
  assert.match(configured.provider.exchanges[0]?.call.prompt ?? "", /^House rules\.\n\nRhyme\./);
});

test("[O4] only allowed tools may be called, and a call of another one is answered, not passed on", async (t) => {
  const tool = (name: string) => ({ name, parameters: { type: "object" } });
  const { ask, provider } = await testEngine(t, {
    script: (_call, n) => (n === 1 ? [{ calls: "b" }] : [{ calls: "a" }]),
  });
  const turn = await ask("go", { tools: [tool("a"), tool("b")], allowedTools: ["a"] });
  assert.deepEqual(provider.exchanges[0]?.call.allowedTools, ["a"]);
  assert.equal(turn.status, "awaiting_tool_results");
  assert.deepEqual(turn.status === "awaiting_tool_results" ? turn.deferredCalls.map(({ name }) => name) : [], ["a"]);
});

test("[O4] the engine's own tools are left out if only named ones are asked for", async (t) => {
  const own = {
    definition: { name: "own", parameters: { type: "object" } },
    needsApproval: () => false,
    view: () => ({ title: "own", kind: "other" as const, locations: [], content: [], permission: null }),
    run: async () => ({ output: "", isError: false }),
  };
  const { ask, provider } = await testEngine(t, { tools: [own] as never });
  await ask("one");
  await ask("two", { onlyNamedTools: true });
  assert.deepEqual(
    provider.exchanges.map(({ call }) => call.tools.map(({ name }) => name)),
    [["own"], []],
  );
});

test("[O4] the client's data and tools are kept with the turn", async (t) => {
  const { ask, engine } = await testEngine(t);
  const tools = [{ name: "f", parameters: { type: "object" } }];
  const turn = await ask("one", { tools, clientData: { a: [1] } });
  const asked = await (await engine.turns.read(alice, turn.id)).asked();
  assert.deepEqual(asked.clientData, { a: [1] });
  assert.deepEqual(asked.tools, tools);
});

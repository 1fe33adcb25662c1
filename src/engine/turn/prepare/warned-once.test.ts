import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine, testRunner } from "../../../../testing/engine.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";

const codes = ({ warnings }: FinishedTurn): string[] => warnings.map(({ code }) => code);

test("[C5] reasoning and images that a switch leaves out are named once for each switch, not on every turn after it", async (t) => {
  const thinking = { script: () => [{ thinks: "hm", opaque: 1 }, { says: "fine" }] };
  const first = { ...scriptedProvider({ ...thinking, name: "first" }), takes: () => ["image/png"] };
  const second = scriptedProvider({ ...thinking, name: "second" });
  const agentContexts = ["first", "second"].map((id) => ({ id, name: id, provider: id, index: "local" }));
  const { ask } = await testEngine(t, {
    provider: first,
    otherProviders: [second],
    agentContexts,
    defaults: { agentContextId: "first", conversationContextId: "default" },
  });
  const image = {
    type: "binary",
    content: Buffer.from("89504e470d0a1a0a", "hex"),
    name: "a.png",
    mode: "inline",
  } as const;
  const { sessionId } = await ask("look", { input: [image], agentContextId: "first" });
  const seen: string[][] = [];
  for (const agentContextId of ["second", "second", "second", "first", "first", "second", "second"]) {
    const turn = await ask("go on", { sessionId, agentContextId });
    assert.equal(turn.status, "completed", JSON.stringify(turn));
    seen.push(codes(turn));
  }
  const both = ["media_dropped", "reasoning_dropped"];
  assert.deepEqual(seen, [both, [], [], ["reasoning_dropped"], [], both, []]);
});

test("[E6] a changed boot prompt or list of tools is named where the whole history is sent too, once", async (t) => {
  const first = await testEngine(t, { conversation: { history: "replay" } });
  const { sessionId } = await first.ask("one");
  const changed = await testEngine(t, {
    ...first.deps,
    runner: testRunner(),
    conversationContexts: first.deps.conversationContexts.map((one) => ({ ...one, bootPrompt: "Be brief." })),
  });
  assert.deepEqual(codes(await changed.ask("two", { sessionId })), ["prompt_changed"]);
  const tools = [{ name: "look", parameters: { type: "object" } }];
  assert.deepEqual(codes(await changed.ask("three", { sessionId, tools })), ["tools_changed"]);
  assert.deepEqual(codes(await changed.ask("four", { sessionId, tools })), []);
});

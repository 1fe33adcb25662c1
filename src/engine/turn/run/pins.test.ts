import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { alice, testEngine, testRunner, type TestEngine } from "../../../../testing/engine.ts";
import { startFakeAnthropic } from "../../../../testing/fake-anthropic/fake-anthropic.ts";
import { startFakeOpenai } from "../../../../testing/fake-openai/fake-openai.ts";
import { hasCode } from "../../../../testing/refusals.ts";
import { memoryBlobs } from "../../../blobs/memory/memory-blobs.ts";
import { sha256 } from "../../../domain/ids.ts";
import { anthropicProvider } from "../../../providers/anthropic/anthropic.ts";
import { openaiProvider } from "../../../providers/openai/openai.ts";
import type { ModelCall, Provider } from "../../../providers/provider.ts";
import type { ScriptedPart } from "../../../providers/scripted/scripted.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";

const sentence = 'The key rotates each Tuesday at 04:00, "never" on Monday.';
const isSummaryCall = (call: ModelCall): boolean => call.prompt?.startsWith("You condense") === true;
const script = (call: ModelCall, n: number): string | ScriptedPart[] => {
  if (isSummaryCall(call)) return "they talked";
  return n === 1 ? `Before it. ${sentence} After it.` : `answer ${n}`;
};

async function pinned(here: TestEngine): Promise<{ sessionId: string; turnId: string }> {
  const { id: turnId, sessionId } = await here.ask("when does the key rotate?");
  await here.engine.sessions.pins.add(alice, sessionId, { turnId, text: sentence });
  return { sessionId, turnId };
}

/** Everything that the model received for its newest answer. */
function seenBy({ provider }: TestEngine): string {
  return (provider.exchanges.at(-1)?.context ?? [])
    .flatMap((item) => (item.type === "user" ? item.parts : item.type === "assistant" ? [item.text] : []))
    .join("\n\n");
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

test("[M6] a pinned sentence survives three compactions word for word, and the manifest says so", async (t) => {
  for (const history of ["chain", "replay"] as const) {
    const here = await testEngine(t, { script, conversation: { history } });
    const { sessionId, turnId } = await pinned(here);
    const contentHash = sha256(sentence);
    const from = "Before it. ".length;
    const ref = { turnId, part: "answer", from, to: from + sentence.length, contentHash };
    const before = await here.ask("go on", { sessionId });
    assert.deepEqual(before.manifest.pins, [{ ...ref, given: "turn", wasSent: false }]);
    for (let n = 1; n <= 3; n += 1) {
      const turn = await here.ask(`question ${n}`, { sessionId, compact: true });
      assert.equal(turn.status, "completed", JSON.stringify(turn));
      assert.equal(count(seenBy(here), sentence), 1, `compaction ${n} (${history})`);
      assert.ok(!seenBy(here).includes("Before it."), "only the passage is repeated");
      assert.match(seenBy(here), /=== PINNED 1 ===\nTurn: 1\n/);
      assert.deepEqual(turn.manifest.pins, [{ ...ref, given: "passage", wasSent: true }]);
      const next = await here.ask(`and ${n}`, { sessionId });
      assert.equal(count(seenBy(here), sentence), 1, `after compaction ${n} (${history})`);
      assert.deepEqual(next.manifest.pins, [{ ...ref, given: "passage", wasSent: false }]);
      assert.deepEqual(next.warnings, [], "the tool that opens turns is offered without another change");
    }
    assert.equal((await here.engine.explain.verify(alice, sessionId)).fault, null);
  }
});

/** A provider on its real wire, with the bodies of all its requests. */
interface Wired {
  provider: Provider;
  bodies(): string[];
}

async function openai(t: TestContext): Promise<Wired> {
  const fake = await startFakeOpenai();
  t.after(() => fake.close());
  let n = 0;
  fake.answer(() => ((n += 1) === 1 ? `Before it. ${sentence}` : "they talked"));
  const provider = openaiProvider({ apiKey: "sk-1", baseUrl: fake.url, model: "gpt-5.1" });
  return {
    provider,
    bodies: () => fake.requests.map(({ raw, refusal }) => (assert.equal(refusal, null), String(raw))),
  };
}

async function anthropic(t: TestContext): Promise<Wired> {
  const fake = await startFakeAnthropic();
  t.after(() => fake.close());
  let n = 0;
  fake.answer(() => ((n += 1) === 1 ? `Before it. ${sentence}` : "they talked"));
  const provider = anthropicProvider({ apiKey: "sk-2", baseUrl: fake.url, model: "claude-opus-5-5" });
  return {
    provider,
    bodies: () => fake.requests.map(({ raw, refusal }) => (assert.equal(refusal, null), String(raw))),
  };
}

test("[M6] on the wires of OpenAI and Anthropic, the request after each compaction has the pinned sentence", async (t) => {
  for (const wire of [openai, anthropic]) {
    const { provider, bodies } = await wire(t);
    const here = await testEngine(t, { provider });
    const { sessionId } = await pinned(here);
    for (let n = 1; n <= 3; n += 1) {
      const turn = await here.ask(`question ${n}`, { sessionId, compact: true });
      assert.equal(turn.status, "completed", JSON.stringify(turn));
      const body = bodies().at(-1) ?? "";
      assert.equal(count(body, JSON.stringify(sentence).slice(1, -1)), 1, `${provider.name}, compaction ${n}`);
      assert.ok(body.includes('"read_turn"'), provider.name);
    }
  }
});

test("[M6] [C3] a pinned sentence is in a chain that is rebuilt, and in a session that was exported and imported", async (t) => {
  const here = await testEngine(t, { script });
  const { sessionId } = await pinned(here);
  await here.ask("one", { sessionId, compact: true });
  here.provider.forget();
  const rebuilt = await here.ask("two", { sessionId });
  assert.ok(rebuilt.warnings.some(({ code }) => code === "chain_rebuilt"));
  assert.equal(count(seenBy(here), sentence), 1);
  const there = await testEngine(t, { script: () => "they talked", records: memoryRecords(), blobs: memoryBlobs() });
  await there.engine.transfer.import(alice, here.engine.transfer.export(alice, { sessionId }));
  for (let n = 1; n <= 3; n += 1) {
    await there.ask(`there ${n}`, { sessionId, compact: true });
    assert.equal(count(seenBy(there), sentence), 1, `compaction ${n} after the import`);
  }
  assert.deepEqual(
    (await there.engine.sessions.pins.list(alice, sessionId)).map(({ text, isInHistory }) => [text, isInHistory]),
    [[sentence, true]],
  );
});

test("[M6] what is pinned after its turn was compacted comes with the next message, once", async (t) => {
  const here = await testEngine(t, { script });
  const { id: turnId, sessionId } = await here.ask("when?");
  await here.ask("one", { sessionId, compact: true });
  assert.equal(count(seenBy(here), sentence), 0);
  await here.engine.sessions.pins.add(alice, sessionId, { turnId, part: "answer" });
  const next = await here.ask("two", { sessionId });
  assert.deepEqual(
    next.manifest.pins?.map(({ given, wasSent }) => [given, wasSent]),
    [["passage", true]],
  );
  const again = await here.ask("three", { sessionId });
  assert.equal(count(seenBy(here), sentence), 1);
  assert.deepEqual(
    again.manifest.pins?.map(({ given, wasSent }) => [given, wasSent]),
    [["passage", false]],
  );
  await here.ask("four", { sessionId, compact: true });
  assert.equal(count(seenBy(here), sentence), 1);
});

test("[M6] a fork has the pins of its branch, and an unpinned passage is gone after the next compaction", async (t) => {
  const here = await testEngine(t, { script });
  const { pins } = here.engine.sessions;
  const { sessionId, turnId } = await pinned(here);
  const second = await here.ask("two", { sessionId });
  const [first] = await pins.list(alice, sessionId);
  await pins.add(alice, sessionId, { turnId: second.id, part: "instruction" });
  const fork = await here.engine.sessions.create(alice, { forkOf: turnId });
  const listed = await pins.list(alice, fork.id);
  assert.deepEqual(
    listed.map(({ text }) => text),
    [sentence],
  );
  const forked = await here.ask("three", { fork: { turnId: second.id } });
  assert.deepEqual(
    (await pins.list(alice, forked.sessionId)).map(({ text }) => text),
    [sentence, "two"],
  );
  await here.ask("in the fork", { sessionId: fork.id, compact: true });
  assert.equal(count(seenBy(here), sentence), 1);
  await pins.remove(alice, fork.id, first?.id ?? "");
  await here.ask("again", { sessionId: fork.id, compact: true });
  assert.equal(count(seenBy(here), sentence), 0);
  assert.equal((await pins.list(alice, sessionId)).length, 2, "the session that was forked keeps its pins");
  assert.deepEqual(await pins.remove(alice, fork.id, first?.id ?? ""), [], "a pin that is gone is no error");
});

test("[M6] pins that do not fit into the model's window are refused, and so is a passage that there is not", async (t) => {
  const long = `word ${"word ".repeat(1_600)}`;
  const here = await testEngine(t, { script: () => long, contextTokens: () => 10_000 });
  const { pins } = here.engine.sessions;
  const { id: turnId, sessionId } = await here.ask("say it twice, say it");
  const refused = { part: "answer", from: 0, to: 7_000 } as const;
  await assert.rejects(pins.add(alice, sessionId, { turnId, ...refused }), hasCode("pins_too_large"));
  await pins.add(alice, sessionId, { turnId, part: "answer", from: 0, to: 4_000 });
  await assert.rejects(
    pins.add(alice, sessionId, { turnId, part: "answer", from: 1, to: 4_001 }),
    hasCode("pins_too_large"),
  );
  const same = await pins.add(alice, sessionId, { turnId, part: "answer", from: 0, to: 4_000 });
  assert.deepEqual(
    (await pins.list(alice, sessionId)).map(({ id }) => id),
    [same.id],
  );
  for (const passage of [
    { text: "nothing of the kind" },
    { text: "say it" },
    { text: "" },
    { part: "answer", from: 7, to: 3 },
    { part: "answer", from: 0, to: 99_999 },
    { text: "say it twice", from: 1 },
  ] as const) {
    await assert.rejects(pins.add(alice, sessionId, { turnId, ...passage }), hasCode("pin_invalid"));
  }
  const other = await here.ask("another session");
  await assert.rejects(pins.add(alice, sessionId, { turnId: other.id }), hasCode("pin_invalid"));
  // A model with a smaller window leaves no room for them.
  const small = await testEngine(t, {
    ...here.deps,
    script: () => "short",
    contextTokens: () => 2_000,
    runner: testRunner(),
  });
  const failed = await small.ask("go on", { sessionId, compact: true });
  assert.equal(failed.status === "failed" && failed.failures[0].code, "pins_too_large");
});

test("[M6] the model opens a compacted turn again in pieces, by the number that the summary has", async (t) => {
  const long = `the first answer ${"long ".repeat(4_000)}the end`;
  const calls: ModelCall[] = [];
  const asked: Record<string, unknown>[] = [
    { turn: 1 },
    { turn: 1, offset: 16_384 },
    { turn: 7 },
    { turn: 2, offset: 9_999 },
  ];
  const opening = (call: ModelCall): string | ScriptedPart[] => {
    calls.push(call);
    if (isSummaryCall(call)) return "- they talked [turns 1, 9]\n- and agreed [turn 99]";
    const next = call.tools.some(({ name }) => name === "read_turn") ? asked.shift() : undefined;
    if (next !== undefined) return [{ calls: "read_turn", with: next, callId: `c${asked.length}` }];
    return calls.length === 1 ? long : "done";
  };
  const here = await testEngine(t, { script: opening, conversation: { history: "replay" } });
  const { sessionId } = await here.ask("first question");
  const second = await here.ask("second question", { sessionId });
  assert.deepEqual(
    calls.flatMap(({ tools }) => tools),
    [],
    "the tool is not offered before a compaction",
  );
  const turn = await here.ask("third", { sessionId, compact: true });
  assert.equal(turn.status, "completed", JSON.stringify(turn));
  assert.ok(
    calls.some(({ items }) => JSON.stringify(items).includes("[TURN 2]\\nUser:")),
    "turns are numbered",
  );
  const results = (calls.at(-1)?.items ?? []).flatMap((item) => (item.type === "tool_result" ? [item.output] : []));
  assert.match(results[0] ?? "", /^\[TURN 1\]\nId: .*first question.*continue with offset 16384\)$/s);
  assert.match(results[1] ?? "", /the end$/);
  assert.match(results[2] ?? "", /the turns are 1 to 2/);
  assert.match(results[3] ?? "", /only \d+ characters/);
  // The model named a turn that the summary does not stand for, and left one out.
  assert.match(
    JSON.stringify(calls.at(-1)?.items[0]),
    /they talked \[turn 1\]\\n- and agreed\\n\\nTurns that no line names: 2/,
  );
  assert.notEqual(turn.manifest.toolsHash, second.manifest.toolsHash);
});

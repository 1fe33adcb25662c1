import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine, testRunner, type TestEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { newId, sha256 } from "../../domain/ids.ts";
import type { FinishedTurn } from "../../domain/turn.ts";
import type { ModelCall } from "../../providers/provider.ts";
import type { TurnRequest } from "../engine.ts";
import type { RetrievedChunk, Retriever } from "../../retrieval/retriever.ts";

type File = NonNullable<TurnRequest["activeFiles"]>[number];

function file(path: string, text: string): File {
  return { path, content: Buffer.from(text), sha256: null, isTouched: false };
}

/** A file of which the sender knows that the model has it. */
function known(path: string, text: string): File {
  return { path, content: null, sha256: sha256(text), isTouched: false };
}

function chunk(path: string, startLine: number, text: string): RetrievedChunk {
  const hash = sha256(text);
  return {
    id: `${path}#${hash.slice(0, 8)}`,
    repo: "r",
    path,
    startLine,
    endLine: startLine + text.split("\n").length - 1,
    language: "ts",
    symbol: null,
    text,
    hash,
    commit: null,
    score: 1,
  };
}

/** Finds one list after the other. */
function finding(...answers: RetrievedChunk[][]): Map<string, Retriever> {
  const left = answers.values();
  const retriever: Retriever = {
    search: async () => left.next().value ?? [],
    index: () => assert.fail("nothing is indexed here"),
    list: async () => [],
    close: async () => {},
  };
  return new Map([["local", retriever]]);
}

async function diff({ engine }: TestEngine, a: string, b: string) {
  return await engine.explain.diff(alice, { a, b });
}

test("[D1] a turn and its rerun with a changed file differ in that file and in their answers, and share their history", async (t) => {
  const at = await testEngine(t);
  const first = await at.ask("one");
  const second = await at.ask("two", {
    sessionId: first.sessionId,
    activeFiles: [file("a.ts", "old"), file("b.ts", "b")],
  });
  const again = await at.ask("", {
    rerun: { turnId: second.id },
    activeFiles: [file("a.ts", "new"), file("b.ts", "b"), file("c.ts", "c")],
  });
  const found = await diff(at, second.id, again.id);
  assert.deepEqual(found.files, [
    { path: "a.ts", hashA: sha256("old"), hashB: sha256("new") },
    { path: "c.ts", hashA: null, hashB: sha256("c") },
  ]);
  assert.deepEqual(found.history, { commonTurnId: first.id, commonTurns: 1, onlyA: [], onlyB: [] });
  assert.ok(Object.values(found.same).every((same) => same));
  const sides = [found.a, found.b].map(({ turnId, sequence, instruction, answer }) => [
    turnId,
    sequence,
    instruction,
    answer,
  ]);
  assert.deepEqual(sides, [
    [second.id, 2, "two", "answer 2"],
    [again.id, 3, "two", "answer 3"],
  ]);
});

test("[D1] prompt, tools, model, settings, mode and contexts are compared one by one", async (t) => {
  const at = await testEngine(t);
  const plain = await at.ask("one");
  const tools = [{ name: "look", parameters: { type: "object" } }];
  const changes: [Partial<TurnRequest>, string[]][] = [
    [{}, []],
    [{ mode: "edit" }, ["mode"]],
    [{ model: "scripted-2" }, ["model"]],
    [{ settings: { temperature: 1 } }, ["settings"]],
    [{ tools }, ["tools"]],
  ];
  for (const [change, expected] of changes) {
    const { same } = await diff(at, plain.id, (await at.ask("one", change)).id);
    assert.deepEqual(
      Object.entries(same).flatMap(([what, isSame]) => (isSame ? [] : [what])),
      expected,
    );
  }
  const parts = { ...at.deps, agentContexts: at.deps.agentContexts.map((one) => ({ ...one, name: "Other" })) };
  const conversationContexts = parts.conversationContexts.map((one) => ({ ...one, bootPrompt: "Be quick." }));
  const other = await testEngine(t, { ...parts, conversationContexts, runner: testRunner() });
  const { same } = await diff(at, plain.id, (await other.ask("one")).id);
  const { prompt, conversationContext, agentContext, tools: sameTools } = same;
  assert.deepEqual([prompt, conversationContext, agentContext, sameTools], [false, false, false, true]);
});

test("[D1] chunks differ by id and content; one that took another's place is a change, one that is in the other's history is none", async (t) => {
  const kept = chunk("a.ts", 1, "kept");
  const old = chunk("a.ts", 10, "old\nold\nold");
  const grown = chunk("a.ts", 11, "new\nnew\nnew\nnew");
  const gone = chunk("b.ts", 1, "gone");
  const far = chunk("b.ts", 90, "far");
  const at = await testEngine(t, { retrievers: finding([kept, old, gone], [kept, grown, far], [old]) });
  const a = await at.ask("one", { repo: "r" });
  const b = await at.ask("one", { repo: "r" });
  assert.deepEqual((await diff(at, a.id, b.id)).chunks, [
    { path: "a.ts", startLine: 11, endLine: 14, change: "changed" },
    { path: "b.ts", startLine: 1, endLine: 1, change: "only_a" },
    { path: "b.ts", startLine: 90, endLine: 90, change: "only_b" },
  ]);
  const next = await at.ask("two", { sessionId: a.sessionId, repo: "r" });
  // The third turn retrieved only what the model has from the first.
  assert.deepEqual(
    (await diff(at, a.id, next.id)).chunks.map(({ change }) => change),
    [],
  );
});

test("[D1] a file that was sent before counts as it was sent, also where a turn only names it", async (t) => {
  const at = await testEngine(t);
  const first = await at.ask("one", { activeFiles: [file("a.ts", "old")] });
  const { sessionId } = first;
  const named = await at.ask("two", { sessionId, activeFiles: [known("a.ts", "old")] });
  assert.deepEqual((await diff(at, first.id, named.id)).files, []);
  const silent = await at.ask("three", { sessionId });
  assert.deepEqual((await diff(at, first.id, silent.id)).files, []);
  const missing = await at.ask("four", { sessionId, activeFiles: [known("z.ts", "never sent")] });
  assert.deepEqual((await diff(at, first.id, missing.id)).files, [], "the model had no version of it either time");
  const fresh = await at.ask("five");
  assert.deepEqual((await diff(at, named.id, fresh.id)).files, [{ path: "a.ts", hashA: sha256("old"), hashB: null }]);
});

test("[D1] [C6] what a turn summarised away is no longer what the model had", async (t) => {
  const script = (call: ModelCall, n: number): string =>
    call.prompt?.startsWith("You condense") === true ? "summary" : `answer ${n} ${"word ".repeat(60)}`;
  const at = await testEngine(t, { script, contextTokens: () => 800 });
  const first = await at.ask("one", { activeFiles: [file("a.ts", "old")] });
  const isCompacted = ({ warnings }: FinishedTurn): boolean =>
    warnings.some(({ code }) => code === "history_compacted");
  let [before, turn] = [first, first];
  for (let n = 2; !isCompacted(turn); n += 1) {
    before = turn;
    turn = await at.ask(`question ${n}`, { sessionId: first.sessionId });
    assert.ok(n < 20);
  }
  assert.deepEqual((await diff(at, first.id, before.id)).files, []);
  assert.deepEqual((await diff(at, first.id, turn.id)).files, [{ path: "a.ts", hashA: sha256("old"), hashB: null }]);
});

test("[D1] histories part at their last common turn, across forks, and for failed turns too", async (t) => {
  const at = await testEngine(t, {
    script: (call, n) =>
      JSON.stringify(call.items.at(-1)).includes("fail") ? [{ fails: "provider_rejected" }] : `a ${n}`,
  });
  const ids: string[] = [];
  let sessionId: string | undefined;
  for (let n = 1; n <= 5; n += 1) {
    const turn = await at.ask(`turn ${n}`, sessionId === undefined ? {} : { sessionId });
    sessionId = turn.sessionId;
    ids.push(turn.id);
  }
  const [one = "", two = "", three = "", four = "", five = ""] = ids;
  const fork = await at.ask("fork", { fork: { turnId: two } });
  const deep = await at.ask("deep", { sessionId: fork.sessionId });
  const between = await diff(at, five, deep.id);
  assert.deepEqual(between.history, {
    commonTurnId: two,
    commonTurns: 2,
    onlyA: [
      { turnId: three, depth: 3, instructionSummary: "turn 3" },
      { turnId: four, depth: 4, instructionSummary: "turn 4" },
    ],
    onlyB: [{ turnId: fork.id, depth: 3, instructionSummary: "fork" }],
  });
  const failed = await at.ask("fail", { sessionId: fork.sessionId });
  const rest = await diff(at, deep.id, failed.id);
  assert.deepEqual([rest.history.commonTurnId, rest.history.onlyB.map(({ turnId }) => turnId)], [fork.id, [deep.id]]);
  assert.equal(rest.b.status, "failed");
  assert.equal(rest.b.answer, "");
  const other = await at.ask("elsewhere");
  const apart = await diff(at, one, other.id);
  assert.deepEqual(apart.history, { commonTurnId: null, commonTurns: 0, onlyA: [], onlyB: [] });
  assert.deepEqual((await diff(at, five, five)).history.onlyA, []);
});

test("[D1] [H4] turns that one may not see cannot be compared", async (t) => {
  const at = await testEngine(t);
  const first = await at.ask("one");
  const stranger = { ...alice, userId: newId() };
  const open = await (await at.engine.turns.run(stranger, { instruction: "mine" })).finished;
  for (const turns of [
    { a: first.id, b: open.id },
    { a: open.id, b: first.id },
    { a: open.id, b: newId() },
    { a: "../x", b: open.id },
  ]) {
    await assert.rejects(at.engine.explain.diff(stranger, turns), hasCode("not_found"));
  }
});

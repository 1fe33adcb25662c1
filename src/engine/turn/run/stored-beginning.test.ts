/** A session's summary as the beginning of a compaction (M5, C4). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { testEngine, type TestEngine } from "../../../../testing/engine.ts";
import type { Summary } from "../../../domain/summary.ts";
import type { FinishedTurn } from "../../../domain/turn.ts";
import { newId } from "../../../domain/ids.ts";
import { noUsage } from "../../../domain/usage.ts";
import type { ModelCall } from "../../../providers/provider.ts";

const isSummaryCall = (call: ModelCall): boolean => call.prompt?.startsWith("You condense") === true;

interface World extends TestEngine {
  turns: FinishedTurn[];
  sessionId: string;
  /** Stores a summary of the session's first turns. */
  summarise(throughDepth: number, over?: Partial<Summary>): Promise<Summary>;
  /** What each call for a summary was given, after the first turns. */
  summaryCalls(): string[];
  /** What the last call was given. */
  seen(): string;
}

async function world(t: TestContext): Promise<World> {
  const engine = await testEngine(t, {
    script: (call: ModelCall, n: number) => (isSummaryCall(call) ? "a newer summary [turn 4]" : `answer ${n}`),
    conversation: { history: "replay" },
  });
  const turns: FinishedTurn[] = [];
  for (let n = 1; n <= 4; n += 1) {
    const [first] = turns;
    turns.push(await engine.ask(`question ${n}`, first === undefined ? {} : { sessionId: first.sessionId }));
  }
  const [first = assert.fail()] = turns;
  const { sessionId } = first;
  const summarise = async (throughDepth: number, over: Partial<Summary> = {}): Promise<Summary> => {
    const through = turns[throughDepth - 1] ?? assert.fail();
    const lines = [
      { part: "goal" as const, text: "The walrus must sing.", sources: [{ turnId: first.id, quote: "question" }] },
      { part: "decision" as const, text: "It sings at noon.", sources: [{ turnId: through.id, quote: "answer" }] },
    ];
    const facts = {
      ...{ id: newId(), orgId: engine.caller.orgId, sessionId, userId: engine.caller.userId, cause: "request" },
      ...{ fromTurnId: first.id, throughTurnId: through.id, throughDepth, basedOn: null, calls: [], createdAt: 1 },
      ...{ provider: "scripted", model: "m", ...over },
      end: { at: 2, usage: noUsage, rejected: [], status: "completed", lines },
    } as const;
    const summary = { ...facts, end: { ...facts.end, rejected: [], lines }, calls: [] };
    const none = { sessions: [], growths: [], parents: [through.id], turns: (async function* () {})() };
    const stored = await engine.deps.records.imports.insert({ ...none, summaries: [summary as never] });
    assert.equal(stored.outcome, "imported");
    return summary as unknown as Summary;
  };
  return {
    ...engine,
    ...{ turns, sessionId, summarise },
    summaryCalls: () =>
      engine.provider.exchanges
        .map(({ context }) => JSON.stringify(context))
        .filter((text) => text.includes("[CONVERSATION]")),
    seen: () => JSON.stringify(engine.provider.exchanges.at(-1)?.context ?? []),
  };
}

test("[M5] [C4] what a stored summary stands for is not read by the model again; only the later turns are", async (t) => {
  const { ask, sessionId, summarise, summaryCalls, seen } = await world(t);
  const { id } = await summarise(3);
  const turn = await ask("go on", { sessionId, compact: true });
  const [call = assert.fail(), ...others] = summaryCalls();
  assert.deepEqual(others, []);
  assert.match(call, /SUMMARY OF WHAT CAME BEFORE.*The walrus must sing\. \[turns 1\].*It sings at noon\. \[turns 3\]/);
  assert.ok(call.includes("question 4") && !call.includes("question 3"), call);
  assert.ok(seen().includes("a newer summary"));
  const warning = turn.warnings.find(({ code }) => code === "history_compacted")?.message ?? "";
  assert.ok(warning.includes(id) && warning.includes("replaces 4 turns"), warning);
});

test("[M5] [C4] a summary of everything that must be shortened needs no call at all, and later turns go on from it", async (t) => {
  const { ask, sessionId, summarise, summaryCalls, seen } = await world(t);
  await summarise(2);
  await summarise(4);
  assert.equal((await ask("go on", { sessionId, compact: true })).status, "completed");
  assert.deepEqual(summaryCalls(), []);
  assert.ok(seen().includes("It sings at noon. [turns 4]") && !seen().includes("question 4"), seen());
  await ask("and on", { sessionId });
  assert.ok(seen().includes("It sings at noon.") && seen().includes("go on") && !seen().includes("question 1"), seen());
});

test("[M5] [C4] [S5] a summary of another branch, of the offline model, or from before a part was hidden, is not used", async (t) => {
  const { ask, engine, caller, sessionId, summarise, summaryCalls, turns } = await world(t);
  await summarise(3);
  await engine.tree.moveHead(caller, { sessionId, from: turns[3]?.id ?? "", to: turns[1]?.id ?? "" });
  await ask("another way", { sessionId });
  await ask("go on", { sessionId, compact: true });
  const [call = ""] = summaryCalls();
  assert.ok(call.includes("question 1") && call.includes("another way"), call);
  const hidden = await world(t);
  await hidden.summarise(3);
  const item = { turnId: hidden.turns[0]?.id ?? "", at: 0 };
  await hidden.ask("", { sessionId: hidden.sessionId, withoutModel: true, hides: [item] });
  await hidden.ask("go on", { sessionId: hidden.sessionId, compact: true });
  const [read = ""] = hidden.summaryCalls();
  assert.ok(read.includes("question 2") && !read.includes("walrus"), read);
  const offline = await world(t);
  await offline.summarise(3, { provider: "offline" });
  await offline.ask("go on", { sessionId: offline.sessionId, compact: true });
  assert.ok(offline.summaryCalls()[0]?.includes("question 1"));
});

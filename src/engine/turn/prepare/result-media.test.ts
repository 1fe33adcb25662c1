/** Images and documents of tool results (I1, T9): what the model sees of them, what is kept, and what a rerun repeats. */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import { alice, all, testEngine, testParts, testRunner } from "../../../../testing/engine.ts";
import { hasCode } from "../../../../testing/refusals.ts";
import { mediaOf, type HistoryItem } from "../../../domain/history.ts";
import type { InputPart } from "../../../domain/input-part.ts";
import { createEngine } from "../../create-engine.ts";
import { scriptedProvider, type Script, type ScriptedAnswer } from "../../../providers/scripted/scripted.ts";

const png = Buffer.from("89504e470d0a1a0a00", "hex");
const other = Buffer.from("89504e470d0a1a0a01", "hex");
const image = (content: Buffer): InputPart => ({ type: "binary", content, mode: "inline" });
const look = { name: "look", parameters: { type: "object" } };

const twice = [
  { calls: "look", with: { at: "a" }, callId: "a" },
  { calls: "look", with: { at: "b" }, callId: "b" },
];

function seer(answer: ScriptedAnswer = "fine") {
  const script: Script = ({ items }) => (JSON.stringify(items.at(-1)).includes("go") ? twice : answer);
  const takes = (model: string): string[] => (model === "blind" ? [] : ["image/png"]);
  return Object.assign(scriptedProvider({ remembers: false, script }), { takes });
}

async function seeing(t: TestContext) {
  const provider = seer();
  return { ...(await testEngine(t, { provider })), exchanges: provider.exchanges };
}

/** The results as the model receives them: their texts, and the hashes of their images. */
function results(items: readonly HistoryItem[] = []): unknown[] {
  return items.flatMap((item) =>
    item.type === "tool_result" ? [[item.callId, item.output, mediaOf(item).map(({ bytes }) => bytes)]] : [],
  );
}

test("[I1] [T9] [T7] a model sees the images of a client's results, in every later turn and in a rerun", async (t) => {
  const { engine, ask, exchanges, deps } = await seeing(t);
  const { sessionId } = await ask("go", { tools: [look], input: [image(other)] });
  const toolResults = [
    { callId: "a", output: "here", isError: false, media: [image(png)] },
    { callId: "b", output: "there", isError: false },
  ];
  const earlier = [{ type: "user" as const, text: "before", media: [image(other)] }];
  const turn = await ask("and?", { sessionId, toolResults, earlier, input: [image(png), image(other)] });
  const expected = [
    ["a", "here", [9]],
    ["b", "there", []],
  ];
  const items = exchanges.at(-1)?.call.items;
  assert.deepEqual(results(items), expected);
  assert.deepEqual(
    items?.flatMap((item) => (item.type === "user" ? [mediaOf(item).length] : [])),
    [1, 1, 2],
  );
  // Each content is stored once, and the turn names all four parts.
  const keys = await deps.blobs.list("turns/");
  assert.equal(keys.filter((key) => key.includes("/part-")).length, 2);
  assert.equal(turn.input?.length, 4);
  const kept = await (await engine.turns.read(alice, turn.id)).toolResults();
  assert.deepEqual(
    kept.map((answer) => ("output" in answer ? (answer.media ?? []).map(({ mediaType }) => mediaType) : null)),
    [["image/png"], []],
  );
  await ask("later", { sessionId });
  assert.deepEqual(results(exchanges.at(-1)?.call.items), expected);
  await ask("", { rerun: { turnId: turn.id } });
  assert.deepEqual(results(exchanges.at(-1)?.call.items), expected);
  assert.equal((await engine.explain.verify(alice, sessionId)).fault, null);
});

test("[I1] [C5] a model without images gets a text in place of a result's image, and a new one is refused", async (t) => {
  const { ask, exchanges } = await seeing(t);
  const { sessionId } = await ask("go", { tools: [look] });
  const brought = { callId: "a", output: "", isError: false, media: [image(png)] };
  const refused = ask("and?", { sessionId, toolResults: [brought], model: "blind" });
  await assert.rejects(refused, hasCode("input_part_unsupported"));
  await ask("and?", { sessionId, toolResults: [brought] });
  const turn = await ask("later", { sessionId, model: "blind" });
  assert.deepEqual(results(exchanges.at(-1)?.call.items), [
    ["a", "[input-1.png (image/png) was sent here; this model cannot see it]", []],
    ["b", "failed: no result", []],
  ]);
  assert.ok(turn.warnings.some(({ code }) => code === "media_dropped"));
});

test("[R2] [T12] [I1] a lost turn keeps the images of its results where they were", async (t) => {
  const dead = new Set<string>();
  const never = new Promise<void>(() => {});
  const provider = seer([{ says: ["half ", never] }]);
  const deps = testParts({ provider, isAlive: (runner) => !dead.has(runner.id) });
  const old = await createEngine(deps);
  t.after(() => old.close({ graceMs: 0 }));
  const { sessionId, finished } = await old.turns.run(alice, { instruction: "go", tools: [look] });
  await finished;
  const toolResults = [{ callId: "a", output: "here", isError: false, media: [image(png)] }];
  const cut = await old.turns.run(alice, { instruction: "and?", sessionId, toolResults, input: [image(other)] });
  for await (const { event } of cut.events()) if (event.type === "text_delta") break;
  dead.add(deps.runner.id);
  const again = seer();
  const parts = { ...deps, providers: new Map([[again.name, again]]), runner: testRunner() };
  const { ask } = await testEngine(t, parts);
  await ask("later", { sessionId });
  const items = again.exchanges.at(-1)?.call.items ?? [];
  assert.deepEqual(results(items)[0], ["a", "here", [9]]);
  assert.deepEqual(
    items.flatMap((item) => (item.type === "user" ? [mediaOf(item).length] : [])),
    [0, 1, 0],
  );
});

test("[D2] [I1] an export carries the images of results", async (t) => {
  const { engine, ask } = await seeing(t);
  const { sessionId } = await ask("go", { tools: [look] });
  const media = [image(png)];
  await ask("and?", { sessionId, toolResults: [{ callId: "a", output: "here", isError: false, media }] });
  const lines = await all(engine.transfer.export(alice, { sessionId }));
  const there = await seeing(t);
  await there.engine.transfer.import(alice, Readable.from(lines));
  await there.ask("later", { sessionId });
  assert.deepEqual(results(there.exchanges.at(-1)?.call.items)[0], ["a", "here", [9]]);
});

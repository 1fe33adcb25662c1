/** A client that sends its whole history gets one session for it (O5). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine } from "../../../testing/engine.ts";
import type { ConversationItem } from "../../domain/history.ts";
import type { InputPart } from "../../domain/input-part.ts";

const user = (text: string): ConversationItem => ({ type: "user", text });
const assistant = (text: string): ConversationItem => ({ type: "assistant", text });

test("[O5] the turn with the longest beginning of a history is found, and the rest counted", async (t) => {
  const { ask, engine } = await testEngine(t);
  const first = await ask("one", { isFindable: true });
  const second = await ask("two", { sessionId: first.sessionId, isFindable: true });
  const whole = [user("one"), assistant("answer 1"), user("two"), assistant("answer 2"), user("three")];
  assert.deepEqual(await engine.turns.find(alice, whole), { turnId: second.id, items: 4 });
  const edited = [user("one"), assistant("answer 1"), user("two"), assistant("another answer"), user("three")];
  assert.deepEqual(await engine.turns.find(alice, edited), { turnId: first.id, items: 2 });
  assert.equal(await engine.turns.find(alice, [user("else"), assistant("answer 1")]), null);
  assert.equal(await engine.turns.find(alice, []), null);
});

test("[O5] earlier items, tool calls with results, and texts of one answer count as the client has them", async (t) => {
  const { ask, engine } = await testEngine(t, {
    script: (_call, n) =>
      n === 1 ? [{ says: "Let me" }, { says: "look." }, { calls: "f", with: { b: 1, a: 2 }, callId: "c" }] : "done",
  });
  const tools = [{ name: "f", parameters: { type: "object" } }];
  const first = await ask("two", { earlier: [user("one"), assistant("first")], tools, isFindable: true });
  const called: ConversationItem[] = [
    user("one"),
    assistant("first"),
    user("two"),
    assistant("Let me\n\nlook."),
    { type: "tool_call", callId: "c", name: "f", arguments: '{ "a": 2, "b": 1 }' },
  ];
  const result: ConversationItem = { type: "tool_result", callId: "c", output: "seen" };
  assert.deepEqual(await engine.turns.find(alice, [...called, result]), { turnId: first.id, items: 5 });
  const toolResults = [{ callId: "c", output: "seen", isError: false }];
  const second = await ask("", { sessionId: first.sessionId, toolResults, isFindable: true });
  assert.deepEqual(await engine.turns.find(alice, [...called, result, assistant("done"), user("x")]), {
    turnId: second.id,
    items: 7,
  });
});

test("[O5] another user's turns, removed ones and those that are not findable are not found", async (t) => {
  const { ask, engine } = await testEngine(t);
  await ask("one");
  const whole = (n: number) => [user("one"), assistant(`answer ${n}`), user("two")];
  assert.equal(await engine.turns.find(alice, whole(1)), null);
  const turn = await ask("one", { isFindable: true });
  assert.equal(await engine.turns.find({ ...alice, userId: crypto.randomUUID() }, whole(2)), null);
  await engine.tree.remove(alice, turn.sessionId);
  assert.equal(await engine.turns.find(alice, whole(2)), null);
});

test("[O5] a turn below one that is not findable is found by the whole history", async (t) => {
  const { ask, engine } = await testEngine(t);
  const first = await ask("one");
  const second = await ask("two", { sessionId: first.sessionId, isFindable: true });
  const whole = [user("one"), assistant("answer 1"), user("two"), assistant("answer 2"), user("three")];
  assert.deepEqual(await engine.turns.find(alice, whole), { turnId: second.id, items: 4 });
});

test("[O5] a key goes with an export, and its turn verifies and is found elsewhere", async (t) => {
  const here = await testEngine(t);
  const there = await testEngine(t);
  const turn = await here.ask("one", { isFindable: true });
  await there.engine.transfer.import(alice, here.engine.transfer.export(alice, { sessionId: turn.sessionId }));
  const report = await there.engine.explain.verify(alice, turn.sessionId);
  assert.equal(report.fault, null);
  assert.deepEqual(await there.engine.turns.find(alice, [user("one"), assistant("answer 1"), user("two")]), {
    turnId: turn.id,
    items: 2,
  });
});

test("[O5] [I1] what came with a message counts: texts and addresses as well as images, each by its content or name", async (t) => {
  const urls = { read: async () => ({ content: Buffer.from("page"), mediaType: "text/plain" }) };
  const { ask, engine } = await testEngine(t, { urls });
  const text = (content: string): InputPart => {
    return { type: "binary", content: Buffer.from(content), name: "a.txt", mode: "inline" };
  };
  const page = (url: string): InputPart => ({ type: "url", url, mode: "inline" });
  const media = [text("notes"), page("https://a.example/1")];
  const turn = await ask("what is this?", { input: media, isFindable: true });
  const whole = (parts: InputPart[]): ConversationItem[] => [
    { type: "user", text: "what is this?", media: parts },
    assistant("answer 1"),
    user("and now?"),
  ];
  assert.deepEqual(await engine.turns.find(alice, whole(media)), { turnId: turn.id, items: 2 });
  for (const others of [
    [text("other"), page("https://a.example/1")],
    [text("notes"), page("https://a.example/2")],
    [],
  ]) {
    assert.equal(await engine.turns.find(alice, whole(others)), null);
  }
});

/** Lists, conversations and pages for people, through the HTTP door. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testDoor } from "../../../../testing/http-door.ts";

test("[H2] [S7] a list with filters says how many sessions they hide, and a later page does not count again", async (t) => {
  const client = (await testDoor(t)).client();
  await client.execute({ instruction: "one", tags: ["red"], conversationId: "one-key" });
  await client.execute({ instruction: "two", session: { labels: ["red", "blue"], metadata: { team: "core" } } });
  await client.execute({ instruction: "three" });
  const names = async (query: Parameters<typeof client.sessions.list>[0]): Promise<unknown> => {
    const { sessions, hidden } = await client.sessions.list(query);
    return [sessions.map(({ name }) => name), hidden];
  };
  assert.deepEqual(await names({}), [["three", "two", "one"], null]);
  assert.deepEqual(await names({ label: "red" }), [["two", "one"], 1]);
  assert.deepEqual(await names({ metadata: "team=core" }), [["two"], 2]);
  assert.deepEqual(await names({ metadata: "team" }), [["two"], 2]);
  assert.deepEqual(await names({ status: "failed" }), [[], 3]);
  assert.deepEqual(await names({ tokensMin: 1, activeFrom: "2001-01-01T00:00:00.000Z" }), [["three", "two", "one"], 0]);
  const page = await client.sessions.list({ label: "red", limit: 1 });
  const next = await client.sessions.list({ label: "red", limit: 1, cursor: page.nextCursor ?? assert.fail() });
  assert.deepEqual([page.hidden, next.hidden, next.sessions[0]?.key], [1, null, "one-key"]);
});

test("[H2] [S1] a draft is not found by others, also if it is public", async (t) => {
  const door = await testDoor(t);
  const client = door.client();
  const draft = await client.sessions.create({ name: "draft", isDraft: true, isPublic: true });
  const bob = door.client({ key: (await door.person("member")).key });
  await assert.rejects(bob.sessions.get(draft.id), { code: "not_found" });
  await client.sessions.update(draft.id, { isDraft: false });
  assert.equal((await bob.sessions.get(draft.id)).isDraft, false);
});

test("[H2] [S9] [G2] the model and the settings of a session can be set, and count for its later turns", async (t) => {
  const client = (await testDoor(t)).client();
  const { sessionId } = await client.execute({ instruction: "one" });
  const settings = { temperature: 0.5 };
  const set = await client.sessions.update(sessionId, { model: "scripted-7", settings });
  assert.deepEqual([set.model, set.settings], ["scripted-7", settings]);
  const { turnId } = await client.execute({ instruction: "two", sessionId });
  const turn = await client.turns.get(turnId);
  assert.deepEqual([turn.model, turn.manifest.settings], ["scripted-7", settings]);
  const unknown = client.sessions.update(sessionId, { conversationContextId: "none" });
  await assert.rejects(unknown, { code: "context_unknown", status: 422 });
  const invalid = client.sessions.update(sessionId, { settings: { temperature: 9 } });
  await assert.rejects(invalid, { code: "request_invalid" });
  const cleared = await client.sessions.update(sessionId, { model: null, settings: {} });
  assert.deepEqual([cleared.model, cleared.settings], [null, {}]);
  const begun = await client.sessions.create({ forkOf: turnId, model: "scripted-8" });
  assert.equal(begun.model, "scripted-8");
});

test("[H2] a page of turns has the whole texts if the client asks for them, and a summary otherwise", async (t) => {
  const client = (await testDoor(t)).client();
  const long = "word ".repeat(600).trim();
  const { sessionId, text } = await client.execute({ instruction: long });
  const [whole] = (await client.sessions.turns(sessionId, { texts: "whole" })).turns;
  assert.deepEqual([whole?.instruction, whole?.answer], [long, text]);
  const [short] = (await client.sessions.turns(sessionId)).turns;
  assert.deepEqual([short?.instruction, short?.instructionSummary.length], [undefined, 1024]);
});

test("[H2] [T6] head moves can be read, oldest first", async (t) => {
  const client = (await testDoor(t)).client();
  const one = await client.execute({ instruction: "one" });
  const two = await client.execute({ instruction: "two", sessionId: one.sessionId });
  await client.sessions.moveHead(one.sessionId, { from: two.turnId, to: one.turnId });
  await client.sessions.moveHead(one.sessionId, { from: one.turnId, to: two.turnId });
  const moves = await client.sessions.headMoves(one.sessionId);
  assert.deepEqual(
    moves.map(({ from, to }) => [from, to]),
    [
      [two.turnId, one.turnId],
      [one.turnId, two.turnId],
    ],
  );
});

test("[S1] [H3] metadata that would come back as something else is refused by name, and nothing is made or changed", async (t) => {
  const door = await testDoor(t);
  const client = door.client();
  const kept = await client.sessions.create({ metadata: { constructor: [1.5, null], deep: { toString: "x" } } });
  const number = "has a number that is too large, such as 1e400; send it as a text";
  const key = "has the key `__proto__`, which programs lose; choose another name";
  const cases: [metadata: string, message: string][] = [
    ['{"n":1e400}', number],
    ['{"deep":[{"n":-1e400}]}', number],
    ['{"__proto__":1}', key],
    ['{"deep":[{"__proto__":{}}]}', key],
    ['"text"', "is not an object"],
  ];
  const headers = { "content-type": "application/json" };
  for (const [metadata, message] of cases) {
    for (const line of ["POST /api/sessions", `PATCH /api/sessions/${kept.id}`]) {
      const { detail } = await door.refused("request_invalid", line, { body: `{"metadata":${metadata}}`, headers });
      assert.equal(detail, `metadata ${message}`, line);
    }
  }
  const { sessions } = await client.sessions.list({});
  assert.deepEqual(
    sessions.map(({ metadata }) => metadata),
    [kept.metadata],
  );
  assert.deepEqual(kept.metadata, { constructor: [1.5, null], deep: { toString: "x" } });
});

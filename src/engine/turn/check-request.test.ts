/** Requests that a program in JavaScript writes wrongly (Y1). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { all, testEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import type { Caller } from "../../domain/caller.ts";
import type { TurnRequest, UserStart } from "../engine.ts";

const wrong: [object, string][] = [
  [{ instruction: 5 }, "instruction is not text"],
  [{ instruction: { a: 1 } }, "instruction is not text"],
  [{ sesionId: "x" }, 'sesionId is not known; the nearest known field is "sessionId"'],
  [{ constructor: "x" }, "constructor is not known"],
  [{ ifBusy: "nope" }, "ifBusy is none of refuse, queue, interrupt, steer"],
  [{ settings: { temprature: 1 } }, 'settings.temprature is not known; the nearest known field is "temperature"'],
  [{ settings: { temperature: Number.NaN } }, "settings.temperature is not a number"],
  [{ settings: { stop: ["a", 5] } }, "settings.stop[1] is not text"],
  [{ session: { lables: [] } }, 'session.lables is not known; the nearest known field is "labels"'],
  [{ fork: {} }, "fork.turnId is missing"],
  [{ fork: "x" }, "fork is not an object"],
  [
    { otherRepos: [{ repo: "a", comit: "b" }] },
    'otherRepos[0].comit is not known; the nearest known field is "commit"',
  ],
  [{ tools: [null] }, "tools[0] is not an object"],
  [{ askApproval: true }, "askApproval is not a function"],
  [{ sessionId: "a", fork: { turnId: "b" } }, "fork cannot be combined with sessionId: a fork starts a new session"],
  [{ rerun: { turnId: "a" }, sessionId: "b" }, "rerun cannot be combined with sessionId"],
  [{ sessionId: "a", retry: true, fire: true }, "retry cannot be combined with fire"],
  [{ sessionId: "a", ifBusy: "steer", compact: true }, 'ifBusy is "steer" and cannot be combined with compact'],
];

test("[Y1] [T6] a request with a field that is unknown, in another form or contradictory is refused, and names it", async (t) => {
  const { engine, caller, provider } = await testEngine(t);
  for (const [fields, message] of wrong) {
    const request = { instruction: "hi", ...fields } as TurnRequest;
    await assert.rejects(engine.turns.run(caller, request), hasCode("request_invalid", message));
    await assert.rejects(engine.turns.estimate(caller, request), hasCode("request_invalid", message));
  }
  assert.equal(provider.exchanges.length, 0);
});

test("[Y1] a field that is undefined is absent", async (t) => {
  const { ask } = await testEngine(t);
  const absent = { sessionId: undefined, fork: undefined, settings: undefined } as unknown as TurnRequest;
  assert.equal((await ask("hi", absent)).status, "completed");
});

test("[Y1] a call without a caller or a request says what is missing, and events without a position are all events", async (t) => {
  const { engine, caller, start } = await testEngine(t);
  const nothing = undefined as unknown;
  for (const run of [engine.turns.run, engine.turns.estimate]) {
    await assert.rejects(run(nothing as Caller, { instruction: "hi" }), hasCode("request_invalid", "is not a caller"));
    await assert.rejects(run(caller, nothing as TurnRequest), hasCode("request_invalid", "is not an object"));
    await assert.rejects(run(caller, "hi" as TurnRequest), hasCode("request_invalid", "is not an object"));
  }
  const running = await start("hi");
  await running.finished;
  assert.deepEqual(await all(await engine.turns.events(caller, running.turnId)), await all(running.events()));
});

test("[Y1] [H4] a user whose role is none, or who has an unknown field, is refused and not stored", async (t) => {
  const { engine, caller } = await testEngine(t);
  const starts: [unknown, string][] = [
    [{ name: "R", role: "root" }, "role is none of admin, member, reader"],
    [{ name: "R", rol: "admin" }, 'rol is not known; the nearest known field is "role"'],
    [{ name: 5 }, "name is not text"],
    [{}, "name is missing"],
    [undefined, "is not an object"],
  ];
  for (const [start, message] of starts) {
    await assert.rejects(engine.people.addUser(caller, start as UserStart), hasCode("request_invalid", message));
  }
  const { id } = await engine.people.addUser(caller, { name: "Ada", email: null });
  const change = { role: "root" } as unknown as UserStart;
  await assert.rejects(engine.people.changeUser(caller, id, change), hasCode("request_invalid", "role is none of"));
  assert.equal((await engine.people.user(caller, id)).role, "member");
});

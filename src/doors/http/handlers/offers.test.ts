/** What waits for a person over all sessions, and what turns have cost (U8, U9). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WireCosts } from "../../../protocol/costs.ts";
import type { WireApprovals } from "../../../protocol/question.ts";
import { testDoor, type CallOptions, type TestDoor } from "../../../../testing/http-door.ts";
import { toolWorld } from "../../../../testing/tool-world.ts";

async function approvals(door: TestDoor, options?: CallOptions): Promise<WireApprovals["approvals"]> {
  return ((await (await door.call("GET /api/approvals", options)).json()) as WireApprovals).approvals;
}

const calls = [{ calls: "run", with: { command: "npm test" } }];

test("[U8] [V5] calls of running and of parked turns wait in one list, each with its exact command, until they are answered", async (t) => {
  const { tools } = await toolWorld(t);
  const door = await testDoor(t, { tools, script: (_call, n) => (n < 3 ? calls : "done") });
  const { engine, admin } = door;
  const parked = await engine.turns.run(admin, { instruction: "one", mode: "edit" });
  await parked.finished;
  const running = await engine.turns.run(admin, { instruction: "two", mode: "edit", askApproval: async () => null });
  while ((await engine.turns.questions(admin, running.turnId)).length === 0) await new Promise(setImmediate);
  const found = await approvals(door);
  assert.deepEqual(
    found.map(({ turnId, isParked, name, view }) => [turnId, isParked, name, view?.title]),
    [
      [parked.turnId, true, "run", "Run npm test"],
      [running.turnId, false, "run", "Run npm test"],
    ],
  );
  const [call] = found;
  const toolResults = [{ callId: call?.callId ?? "", approved: false, reason: "no" }];
  await door.client().execute({ sessionId: parked.sessionId, toolResults });
  const [question] = await engine.turns.questions(admin, running.turnId);
  const answer = { turnId: running.turnId, callId: question?.callId ?? "" };
  await engine.turns.answerQuestion(admin, { ...answer, approved: false });
  await running.finished;
  assert.deepEqual(await approvals(door), []);
});

test("[U8] [H4] only who may continue a session sees what waits in it", async (t) => {
  const { tools } = await toolWorld(t);
  const door = await testDoor(t, { tools, script: () => calls });
  const turn = await door.engine.turns.run(door.admin, { instruction: "one", mode: "edit" });
  await turn.finished;
  const [colleague, reader] = [await door.person("member"), await door.person("reader")];
  await door.engine.sessions.update(door.admin, turn.sessionId, { isPublic: true });
  for (const as of [colleague, reader]) assert.deepEqual(await approvals(door, { as }), []);
  await door.engine.sharing.change(door.admin, turn.sessionId, { invite: [colleague.userId] });
  assert.equal((await approvals(door, { as: colleague })).length, 1);
});

test("[U9] costs are added up by day, session, person and model, over the sessions that the caller may see", async (t) => {
  const day = 86_400_000;
  const clock = { now: Date.UTC(2026, 0, 10) };
  const door = await testDoor(t, { now: () => clock.now, script: (_call, n) => `answer ${n}` });
  const client = door.client();
  const first = await client.execute({ instruction: "one" });
  clock.now += day;
  await client.execute({ instruction: "two", sessionId: first.sessionId });
  await client.execute({ instruction: "three", sessionId: first.sessionId });
  const other = await door.person("member");
  await door.client({ key: other.key }).execute({ instruction: "four" });
  const costs = async (query: string, as = door.admin): Promise<WireCosts> =>
    (await (await door.call(`GET /api/costs?${query}`, { as })).json()) as WireCosts;
  const shown = ({ cells }: WireCosts) => cells.map(({ day: of, turns }) => [of, turns]).toSorted();
  const all = await costs("from=2026-01-01T00:00:00.000Z");
  assert.deepEqual(shown(all), [
    ["2026-01-10", 1],
    ["2026-01-11", 2],
  ]);
  assert.deepEqual(
    all.sessions.map(({ id }) => id),
    [first.sessionId],
  );
  assert.deepEqual(shown(await costs("from=2026-01-11T00:00:00.000Z")), [["2026-01-11", 2]]);
  const one = "from=2026-01-01T00:00:00.000Z&until=2026-01-11T00:00:00.000Z";
  assert.deepEqual(shown(await costs(one)), [["2026-01-10", 1]]);
  assert.equal((await costs("from=2026-01-01T00:00:00.000Z", other)).cells[0]?.userId, other.userId);
  await door.refused("request_invalid", "GET /api/costs?from=yesterday");
});

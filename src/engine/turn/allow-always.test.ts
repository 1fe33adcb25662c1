/** What a person allows permanently while they answer, at any door (P4, V5, U8). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Caller } from "../../domain/caller.ts";
import { newId } from "../../domain/ids.ts";
import type { TurnRequest } from "../engine.ts";
import { alice, testEngine, type TestEngine, type TestEngineOptions } from "../../../testing/engine.ts";
import { permittingWorkspaces, type PermittingWorkspaces } from "../../../testing/permitting-workspaces.ts";
import { toolWorld } from "../../../testing/tool-world.ts";

const refused = { code: "forbidden" };
const phone: Caller = { ...alice, deviceId: "phone", workspaceId: "default" };

type World = TestEngine & PermittingWorkspaces & { folder: string };

async function permittingWorld(t: TestContext, more: TestEngineOptions = {}): Promise<World> {
  const kept = await permittingWorkspaces();
  const { tools, folder } = await toolWorld(t);
  const script = (_call: unknown, n: number) =>
    n % 2 === 1 ? [{ calls: "run", with: { command: "echo x" } }] : "done";
  const engine = await testEngine(t, { tools, script, workspaces: kept.workspaces, ...more });
  kept.settle(engine.deps);
  return { ...engine, ...kept, folder };
}

const inWorkspace: Partial<TurnRequest> = { mode: "edit", workspaceId: "default" };

async function waitingCall({ engine }: World, caller: Caller = alice) {
  const [call] = await engine.turns.waiting(caller);
  return call ?? assert.fail("nothing waits");
}

test("[P4] [U8] a parked call is allowed permanently: the exact key is stored, the same call is not asked again, and asked again once it is revoked", async (t) => {
  const world = await permittingWorld(t);
  const { engine, folder } = world;
  const parked = await world.ask("go", inWorkspace);
  assert.equal(parked.status, "awaiting_tool_results");
  const { callId, always } = await waitingCall(world);
  assert.deepEqual(always, { label: "echo x", scope: "workspace" });
  const answer = { sessionId: parked.sessionId, toolResults: [{ callId, approved: true }], alwaysAllow: [callId] };
  await (
    await engine.turns.run(alice, { instruction: "", mode: "edit", ...answer })
  ).finished;
  const key = `run echo x in ${JSON.stringify(folder)}`;
  assert.deepEqual(await world.keys(), [key]);
  assert.equal((await world.ask("again", inWorkspace)).status, "completed");
  await world.permissions.forget("default", key);
  assert.equal((await world.ask("once more", inWorkspace)).status, "awaiting_tool_results");
});

test("[P4] [H4] a permission of the workspace counts for no caller for whom the workspace is only a label", async (t) => {
  const world = await permittingWorld(t);
  await world.permissions.allow("default", `run echo x in ${JSON.stringify(world.folder)}`);
  const other: Caller = { ...alice, role: "member" };
  const turn = await (await world.engine.turns.run(other, { instruction: "go", ...inWorkspace })).finished;
  assert.equal(turn.status, "awaiting_tool_results");
  assert.deepEqual((await waitingCall(world, other)).always, { not: "not_yours" });
});

test("[P4] [U8] what cannot be allowed permanently says why, and an answer that asks for it changes nothing", async (t) => {
  const world = await permittingWorld(t, {
    script: (_call, n) =>
      n === 1
        ? [{ calls: "write", with: { path: "package.json", content: "{}" } }]
        : [{ calls: "run", with: { command: "echo x" } }],
  });
  const selfRunning = await world.ask("go", inWorkspace);
  const first = await waitingCall(world);
  assert.deepEqual(first.always, { not: "each_time" });
  const answer = (sessionId: string, callId: string) => ({
    ...{ instruction: "", mode: "edit", sessionId },
    ...{ toolResults: [{ callId, approved: true }], alwaysAllow: [callId] },
  });
  await assert.rejects(world.engine.turns.run(alice, answer(selfRunning.sessionId, first.callId)), refused);
  await world.engine.tree.remove(alice, selfRunning.sessionId);
  const without = await world.ask("go", { mode: "edit" });
  const second = await waitingCall(world);
  assert.deepEqual(second.always, { not: "no_workspace" });
  await assert.rejects(world.engine.turns.run(alice, answer(without.sessionId, second.callId)), refused);
  await world.engine.tree.remove(alice, without.sessionId);
  const inOne = await world.ask("go", inWorkspace);
  const third = await waitingCall(world, phone);
  assert.deepEqual(third.always, { not: "device" });
  await assert.rejects(world.engine.turns.run(phone, answer(inOne.sessionId, third.callId)), refused);
  assert.deepEqual(await world.keys(), []);
  assert.equal((await waitingCall(world)).callId, third.callId, "it still waits");
});

test("[P4] [V5] the question of a running turn is allowed permanently by the first answer, and by no later one", async (t) => {
  const world = await permittingWorld(t);
  const { engine } = world;
  const asking = { ...inWorkspace, askApproval: async () => null };
  const first = await world.start("go", asking);
  let [question] = await engine.turns.questions(alice, first.turnId);
  while (question === undefined) {
    await new Promise(setImmediate);
    [question] = await engine.turns.questions(alice, first.turnId);
  }
  const { callId } = question;
  await assert.rejects(
    engine.turns.answerQuestion(phone, { turnId: first.turnId, callId, approved: true, always: true }),
    refused,
  );
  await engine.turns.answerQuestion(alice, { turnId: first.turnId, callId, approved: false });
  const late = engine.turns.answerQuestion(alice, { turnId: first.turnId, callId, approved: true, always: true });
  await assert.rejects(late, { code: "question_not_open" });
  await first.finished;
  assert.deepEqual(await world.keys(), []);
  const second = await world.start("go", asking);
  for (;;) {
    const [open] = await engine.turns.questions(alice, second.turnId);
    if (open === undefined) await new Promise(setImmediate);
    else {
      await engine.turns.answerQuestion(alice, {
        turnId: second.turnId,
        callId: open.callId,
        approved: true,
        always: true,
      });
      break;
    }
  }
  await second.finished;
  assert.equal((await world.keys()).length, 1);
});

test("[P4] [V5] what a client asks about is allowed permanently only if it offers that, and only by its own user", async (t) => {
  const world = await testEngine(t, { script: () => [{ calls: "write", callId: "c1", with: {} }] });
  const { engine } = world;
  const tools = [{ name: "write", parameters: { type: "object" }, effect: "write" as const }];
  const turn = await world.ask("go", { tools, mode: "edit", workspaceId: "default" });
  const view = { title: "Write", kind: "edit" as const, locations: [], content: [], permission: null };
  const always = { label: "change any file in ~/shop", scope: "chat" as const };
  const answer = { turnId: turn.id, callId: "c1", approved: true as const, always: true };
  await engine.turns.askQuestion(alice, { turnId: turn.id, callId: "c1", askerId: newId(), view });
  await assert.rejects(engine.turns.answerQuestion(alice, answer), refused);
  const question = { turnId: turn.id, callId: "c1", askerId: newId(), view: { ...view, always } };
  await engine.turns.askQuestion(alice, question);
  assert.deepEqual((await engine.turns.waiting(alice))[0]?.always, always);
  assert.deepEqual((await engine.turns.waiting(phone))[0]?.always, { not: "device" });
  await assert.rejects(engine.turns.answerQuestion(phone, answer), refused);
  await engine.turns.answerQuestion(alice, answer);
  assert.deepEqual(await engine.turns.askQuestion(alice, question), { approved: true, always: true });
});

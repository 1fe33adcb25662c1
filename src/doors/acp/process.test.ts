/** `aptove acp` as an editor starts it: a process, its pipes, and what is left when it dies (P1, P4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { program } from "../../../testing/program.ts";

const said = (updates: readonly SessionUpdate[]): string =>
  updates
    .map((update) =>
      (update.sessionUpdate === "user_message_chunk" || update.sessionUpdate === "agent_message_chunk") &&
      update.content.type === "text"
        ? update.content.text
        : "",
    )
    .join("");

test("[P1] [P4] after kill -9 in the middle of an answer the session is loaded and resumed by another process", async (t) => {
  const world = await program(t);
  const first = await world.acp();
  const { sessionId } = await first.begin();
  await first.prompt(sessionId, "remember heron");
  const never = Promise.withResolvers<void>();
  t.after(() => never.resolve());
  const output = [{ type: "message" as const, text: "and this is never answered" }];
  world.model.next({ output, hold: { afterEvents: 6, until: never.promise } });
  const dying = first.prompt(sessionId, "what is never answered?").catch(() => "died");
  await first.until(() => first.answerText(sessionId).includes("and"));
  await first.kill();
  assert.equal(await dying, "died");

  const second = await world.acp();
  await second.load(sessionId);
  assert.match(said(second.updates(sessionId)), /remember heron/);
  assert.doesNotMatch(said(second.updates(sessionId)), /never answered/);
  assert.equal((await second.prompt(sessionId, "again")).stopReason, "end_turn");
  assert.equal(await second.leave(), 0);

  const third = await world.acp();
  await third.agent.request("session/resume", { sessionId, cwd: world.project });
  assert.equal(said(third.updates(sessionId)), "");
  assert.equal((await third.prompt(sessionId, "and again")).stopReason, "end_turn");
  assert.deepEqual([...first.faults, ...second.faults, ...third.faults], []);
});

test("[P4] [T12] after kill -9 in a session's first turn its instruction and what was answered are shown, and nothing goes on from it", async (t) => {
  const world = await program(t);
  const first = await world.acp();
  const { sessionId } = await first.begin();
  const never = Promise.withResolvers<void>();
  t.after(() => never.resolve());
  const output = [{ type: "message" as const, text: "half an answer that never ends" }];
  world.model.next({ output, hold: { afterEvents: 6, until: never.promise } });
  const dying = first.prompt(sessionId, "the very first words").catch(() => "died");
  await first.until(() => first.answerText(sessionId) !== "");
  const heard = first.answerText(sessionId);
  await first.kill();
  assert.equal(await dying, "died");

  const second = await world.acp();
  await second.load(sessionId);
  assert.ok(said(second.updates(sessionId)).startsWith(`the very first words${heard}`), heard);
  world.model.next({ output: [{ type: "message", text: "anew" }] });
  await second.prompt(sessionId, "once more");
  assert.doesNotMatch(world.model.requests.at(-1)?.raw.toString() ?? "", /very first words/);
  const third = await world.acp();
  await third.load(sessionId);
  assert.equal(said(third.updates(sessionId)), "once moreanew");
  assert.deepEqual([...first.faults, ...second.faults, ...third.faults], []);
});

test("[P1] a workspace that is not there is told, and a mode that is asked for is that of new sessions", async (t) => {
  const world = await program(t);
  const missing = await world.acp({ args: ["--workspace", "6ba7b810-9dad-41d1-80b4-00c04fd430c8"] });
  await assert.rejects(missing.begin(), { message: /there is no workspace/ });
  const asking = await world.acp({ args: ["--mode", "ask"] });
  assert.equal((await asking.begin()).modes?.currentModeId, "ask");
  assert.deepEqual(await Promise.all([missing.leave(), asking.leave()]), [0, 0]);
});

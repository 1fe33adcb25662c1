/** `aptove acp` as an editor starts it: a process, its pipes, and what remains when it dies (P1, P4). */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { program } from "../../../testing/program.ts";

const textOf = (updates: readonly SessionUpdate[]): string =>
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
  await first.until(() => first.text(sessionId).includes("and"));
  await first.kill();
  assert.equal(await dying, "died");

  const second = await world.acp();
  await second.load(sessionId);
  assert.match(textOf(second.updates(sessionId)), /remember heron.*never answered\?and.*The turn failed/s);
  assert.equal((await second.prompt(sessionId, "again")).stopReason, "end_turn");
  assert.equal(await second.leave(), 0);

  const third = await world.acp();
  await third.agent.request("session/resume", { sessionId, cwd: world.project });
  assert.equal(textOf(third.updates(sessionId)), "");
  assert.equal((await third.prompt(sessionId, "and again")).stopReason, "end_turn");
  assert.deepEqual([...first.faults, ...second.faults, ...third.faults], []);
});

test("[P4] [T12] after kill -9 in a session's first turn its instruction and the text so far are shown, and the next turn continues from it", async (t) => {
  const world = await program(t);
  const first = await world.acp();
  const { sessionId } = await first.begin();
  const never = Promise.withResolvers<void>();
  t.after(() => never.resolve());
  const output = [{ type: "message" as const, text: "half an answer that never ends" }];
  world.model.next({ output, hold: { afterEvents: 6, until: never.promise } });
  const dying = first.prompt(sessionId, "the very first words").catch(() => "died");
  await first.until(() => first.text(sessionId) !== "");
  const answered = first.text(sessionId);
  await first.kill();
  assert.equal(await dying, "died");

  const second = await world.acp();
  await second.load(sessionId);
  assert.ok(textOf(second.updates(sessionId)).startsWith(`the very first words${answered}`), answered);
  world.model.next({ output: [{ type: "message", text: "anew" }] });
  await second.prompt(sessionId, "once more");
  assert.match(world.model.requests.at(-1)?.raw.toString() ?? "", /very first words.*half.*once more.*\[NOTE\]/s);
  const third = await world.acp();
  await third.load(sessionId);
  assert.match(textOf(third.updates(sessionId)), /^the very first words.*once moreanew$/s);
  assert.deepEqual([...first.faults, ...second.faults, ...third.faults], []);
});

test("[P4] [V5] [R4] an editor that is opened again during the grace time follows the turn of the former process, and answers its question", async (t) => {
  const world = await program(t);
  const never = new Promise<never>(() => {});
  const asked = Promise.withResolvers<void>();
  const first = await world.acp({ onPermission: () => (asked.resolve(), never) });
  const { sessionId } = await first.begin();
  const call = { path: "a.txt", content: "by the second" };
  world.model.next(
    {
      output: [
        { type: "message", text: "I shall write it." },
        { type: "function_call", name: "write", arguments: JSON.stringify(call) },
      ],
    },
    "It is written.",
  );
  void first.prompt(sessionId, "write it").catch(() => undefined);
  await asked.promise;
  const left = first.leave();

  const titles: unknown[] = [];
  const second = await world.acp({
    onPermission: async ({ toolCall }) => {
      titles.push(toolCall.title);
      return { outcome: { outcome: "selected", optionId: "allow_once" } };
    },
  });
  await second.load(sessionId);
  assert.equal(textOf(second.updates(sessionId)), "write itI shall write it.");
  await second.until(() => textOf(second.updates(sessionId)).endsWith("It is written."));
  assert.deepEqual(titles, ["Create a.txt"]);
  assert.equal(readFileSync(join(world.project, "a.txt"), "utf8"), "by the second");
  assert.equal(await left, 0);
  assert.deepEqual([...first.faults, ...second.faults], []);
});

test("[P5] a command does not get the variables that only start this program", async (t) => {
  const world = await program(t);
  const agent = await world.acp();
  const { sessionId } = await agent.begin();
  const command = JSON.stringify({ command: "echo cache=$NODE_COMPILE_CACHE pools=$MALLOC_ARENA_MAX." });
  world.model.next({ output: [{ type: "function_call", name: "run", arguments: command }] }, "done");
  await agent.prompt(sessionId, "look");
  assert.match(JSON.stringify(agent.updates(sessionId)), /cache= pools=\./);
});

test("[P1] a missing workspace is an error, and the requested mode is that of new sessions", async (t) => {
  const world = await program(t);
  const missing = await world.acp({ args: ["--workspace", "6ba7b810-9dad-41d1-80b4-00c04fd430c8"] });
  await assert.rejects(missing.begin(), { message: /there is no workspace/ });
  const asking = await world.acp({ args: ["--mode", "ask"] });
  assert.equal((await asking.begin()).modes?.currentModeId, "ask");
  assert.deepEqual(await Promise.all([missing.leave(), asking.leave()]), [0, 0]);
});

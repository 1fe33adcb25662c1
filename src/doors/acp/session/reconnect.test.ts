/** A client that was cut off in the middle of a turn opens the session again, and finds everything (P4, V5, R5). */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextRound } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import type { RequestPermissionRequest, RequestPermissionResponse, SessionUpdate } from "@agentclientprotocol/sdk";
import { acpTest, type AcpTest, type ConnectOptions, type TestConnection } from "../../../../testing/acp/acp-test.ts";
import { memoryBlobs } from "../../../blobs/memory/memory-blobs.ts";
import { memoryEventLog } from "../../../live/memory/memory-event-log.ts";
import type { Script } from "../../../providers/scripted/scripted.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";

const chosen = (optionId: string): RequestPermissionResponse => ({ outcome: { outcome: "selected", optionId } });

/** The texts of both sides, in the order in which the client received them; adjacent pieces are one. */
function conversation(updates: readonly SessionUpdate[]): string[] {
  const texts: string[] = [];
  for (const update of updates) {
    const isPerson = update.sessionUpdate === "user_message_chunk";
    if (!isPerson && update.sessionUpdate !== "agent_message_chunk") continue;
    const who = isPerson ? "person: " : "model: ";
    const text = update.content.type === "text" ? update.content.text : "";
    const last = texts.at(-1);
    if (last?.startsWith(who) === true) texts[texts.length - 1] = `${last}${text}`;
    else texts.push(`${who}${text}`);
  }
  return texts;
}

function stopReasonAtEnd(updates: readonly SessionUpdate[]): unknown {
  const ends = updates.flatMap((update) =>
    update.sessionUpdate === "session_info_update" ? (update._meta?.["aptove.dev/stopReason"] ?? []) : [],
  );
  return ends.at(-1);
}

interface CutOff {
  world: AcpTest;
  sessionId: string;
  /** Lets the model continue. */
  release(): void;
  /** Opens another connection, as the client does that comes back. */
  again(options?: ConnectOptions): Promise<TestConnection>;
}

/** A client that has left while the model was between "one " and "two". */
async function cutInText(t: TestContext, script?: Script): Promise<CutOff> {
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  const world = await acpTest(t, {
    script: script ?? ((_call, n) => (n === 2 ? [{ says: ["one ", held.promise, "two"] }] : `answer ${n}`)),
  });
  const first = await world.connect();
  const { sessionId } = await first.begin();
  await first.prompt(sessionId, "before");
  void first.prompt(sessionId, "count").catch(() => "gone");
  await first.until(() => first.text(sessionId).endsWith("one "));
  // The agent's end of the connection waits for the turn, so this is not awaited.
  void first.leave();
  return { world, sessionId, release: () => held.resolve(), again: (options) => world.connect(options) };
}

test("[P4] [R5] loading a session with a running turn shows it so far, and follows it live to its end", async (t) => {
  const { sessionId, release, again } = await cutInText(t);
  const connection = await again();
  const answer = await connection.load(sessionId);
  assert.equal(typeof answer._meta?.["aptove.dev/runningTurnId"], "string");
  const soFar = ["person: before", "model: answer 1", "person: count", "model: one "];
  assert.deepEqual(conversation(connection.updates(sessionId)), soFar);
  const whole = [...soFar.slice(0, -1), "model: one two"];
  release();
  await connection.until(() => stopReasonAtEnd(connection.updates(sessionId)) !== undefined);
  assert.deepEqual(conversation(connection.updates(sessionId)), whole);
  assert.equal(stopReasonAtEnd(connection.updates(sessionId)), "end_turn");
  // The next prompt shows nothing again.
  await connection.prompt(sessionId, "next");
  assert.deepEqual(conversation(connection.updates(sessionId)), [...whole.slice(0, -1), "model: one twoanswer 3"]);
});

test("[P4] resuming a session with a running turn shows only what comes from here on", async (t) => {
  const { world, sessionId, release, again } = await cutInText(t);
  const connection = await again();
  await connection.agent.request("session/resume", { sessionId, cwd: world.project });
  release();
  await connection.until(() => stopReasonAtEnd(connection.updates(sessionId)) !== undefined);
  assert.deepEqual(conversation(connection.updates(sessionId)), ["model: two"]);
});

test("[P4] [T10] a turn that was loaded while it ran can be cancelled, and so does closing the session", async (t) => {
  for (const way of ["cancel", "close"]) {
    const { world, sessionId, again } = await cutInText(t);
    const connection = await again();
    await connection.load(sessionId);
    if (way === "cancel") {
      await connection.agent.notify("session/cancel", { sessionId });
      await connection.until(() => stopReasonAtEnd(connection.updates(sessionId)) === "cancelled");
    } else {
      await connection.agent.request("session/close", { sessionId });
    }
    const { engine } = world.aptove;
    const caller = await engine.keys.owner();
    // The end is stored a moment after the answer.
    while ((await engine.turns.running(caller, sessionId)) !== null) await nextRound();
    const [last] = await engine.turns.list(caller, sessionId, { limit: 1 });
    assert.equal(last?.status === "completed" && last.stopReason, "interrupted");
  }
});

test("[P4] [V4] a prompt to a turn that was loaded while it ran steers it, and is answered with its end", async (t) => {
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  const { world, sessionId, again } = await cutInText(t, (_call, n) =>
    n === 2
      ? [{ says: ["one ", held.promise] }, { calls: "list", callId: "c1" }]
      : n === 3
        ? "as you wish"
        : `answer ${n}`,
  );
  const connection = await again();
  await connection.load(sessionId);
  const prompt = connection.prompt(sessionId, "and be brief");
  const { engine } = world.aptove;
  const caller = await engine.keys.owner();
  // The message is in the turn before the model continues.
  while ((await engine.turns.running(caller, sessionId)) === null);
  setImmediate(() => held.resolve());
  assert.equal((await prompt).stopReason, "end_turn");
  assert.match(JSON.stringify(world.provider.exchanges.at(-1)?.context), /and be brief/);
  const shown = conversation(connection.updates(sessionId));
  assert.deepEqual(shown.slice(-2), ["person: count", "model: one as you wish"]);
  const turns = await engine.turns.list(caller, sessionId, {});
  assert.equal(turns.length, 2);
});

test("[P4] [V4] [R3] a prompt that comes too late for another process's turn is answered by a turn of its own", async (t) => {
  const stores = { records: memoryRecords(), blobs: memoryBlobs(), log: memoryEventLog() };
  const world = await acpTest(t, { aptove: stores, script: (_call, n) => `answer ${n}` });
  const other = await acpTest(t, { aptove: stores, script: () => "an answer of its own" });
  const first = await world.connect();
  const { sessionId } = await first.begin();
  await first.prompt(sessionId, "before");
  // The turn has made its last model call, and is about to be stored, when the message comes.
  const isLate = Promise.withResolvers<void>();
  const steered = Promise.withResolvers<void>();
  const { put } = stores.blobs;
  stores.blobs.put = async (key, bytes) => {
    await put.call(stores.blobs, key, bytes);
    if (!/\/run(-\d+)?\.json$/.test(key)) return;
    isLate.resolve();
    await steered.promise;
  };
  const { insertControl } = stores.records.runners;
  stores.records.runners.insertControl = async (control) => {
    const isTaken = await insertControl.call(stores.records.runners, control);
    steered.resolve();
    return isTaken;
  };
  const running = first.prompt(sessionId, "count");
  await isLate.promise;
  const second = await other.connect();
  await second.load(sessionId);
  const answer = await second.prompt(sessionId, "and then?");
  const earlier = await running;
  assert.equal(answer.stopReason, "end_turn");
  assert.notEqual(answer._meta?.["aptove.dev/turnId"], earlier._meta?.["aptove.dev/turnId"]);
  const { engine } = other.aptove;
  const reader = await engine.turns.read(await engine.keys.owner(), String(answer._meta?.["aptove.dev/turnId"]));
  assert.deepEqual([await reader.instruction(), await reader.answer()], ["and then?", "an answer of its own"]);
});

/** A client that has left while it was asked whether a file may be written. */
async function cutInQuestion(t: TestContext): Promise<CutOff> {
  const world = await acpTest(t, {
    script: (_call, n) => (n === 1 ? [{ calls: "write", with: { path: "1.txt", content: "x\n" } }] : "done"),
  });
  const asked = Promise.withResolvers<void>();
  const first = await world.connect({
    onPermission: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  });
  const { sessionId } = await first.begin();
  void first.prompt(sessionId, "write").catch(() => "gone");
  await asked.promise;
  void first.leave();
  return { world, sessionId, release: () => {}, again: (options) => world.connect(options) };
}

test("[V5] [P4] a question stays open while its client is away, and the client that loads the session is asked again", async (t) => {
  for (const optionId of ["allow_once", "reject_once"]) {
    const { world, sessionId, again } = await cutInQuestion(t);
    const file = join(world.project, "1.txt");
    const questions: RequestPermissionRequest[] = [];
    const connection = await again({
      onPermission: async (question) => {
        questions.push(question);
        assert.equal(existsSync(file), false);
        return chosen(optionId);
      },
    });
    await connection.load(sessionId);
    await connection.until(() => stopReasonAtEnd(connection.updates(sessionId)) !== undefined);
    assert.equal(questions.length, 1);
    assert.equal(questions[0]?.toolCall.title, "Create 1.txt");
    assert.deepEqual(questions[0]?.toolCall.rawInput, { path: "1.txt", content: "x\n" });
    assert.equal(existsSync(file), optionId === "allow_once");
    assert.equal(connection.text(sessionId), "done");
  }
});

test("[V5] of two clients that are asked, the first answer wins, and the question is withdrawn from the other", async (t) => {
  const { world, sessionId, again } = await cutInQuestion(t);
  const withdrawn = Promise.withResolvers<void>();
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = await again({
    onPermission: (_question, signal) => {
      asked.resolve();
      signal.addEventListener("abort", () => withdrawn.resolve(), { once: true });
      return new Promise(() => {});
    },
  });
  const fast = await again({ onPermission: async () => (await go.promise, chosen("allow_once")) });
  await slow.load(sessionId);
  await fast.load(sessionId);
  await asked.promise;
  go.resolve();
  await withdrawn.promise;
  for (const client of [slow, fast]) {
    await client.until(() => stopReasonAtEnd(client.updates(sessionId)) === "end_turn");
    const statuses = client.updates(sessionId).flatMap((update) => ("status" in update ? [update.status] : []));
    assert.deepEqual(statuses, ["pending", "pending", "in_progress", "completed"]);
  }
  assert.equal(existsSync(join(world.project, "1.txt")), true);
});

test("[V5] a question that was answered while no client was there is not asked again", async (t) => {
  const { world, sessionId, again } = await cutInQuestion(t);
  const { engine } = world.aptove;
  const caller = await engine.keys.owner();
  const { turn } = (await engine.turns.running(caller, sessionId)) ?? assert.fail("no turn is running");
  const [question] = await engine.turns.questions(caller, turn.id);
  await engine.turns.answerQuestion(caller, { turnId: turn.id, callId: question?.callId ?? "", approved: true });
  const connection = await again({ onPermission: async () => assert.fail("asked again") });
  await connection.load(sessionId);
  await connection.until(() => connection.text(sessionId) === "done");
});

test("[T12] loading shows how a failed turn ended", async (t) => {
  const world = await acpTest(t, {
    script: () => [{ says: "half" }, { fails: "provider_unavailable", message: "cut" }],
  });
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "go").catch(() => undefined);
  const again = await world.connect();
  await again.load(sessionId);
  assert.deepEqual(conversation(again.updates(sessionId)), ["person: go", "model: half\n\nThe turn failed: cut"]);
});

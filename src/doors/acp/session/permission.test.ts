import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { acpTest, type AcpTest, type ConnectOptions } from "../../../../testing/acp/acp-test.ts";

/** Every odd request to the model writes a file, every even one ends the turn. */
async function writing(t: TestContext): Promise<AcpTest> {
  return await acpTest(t, {
    script: (_call, n) => (n % 2 === 1 ? [{ calls: "write", with: { path: `${n}.txt`, content: "x\n" } }] : "done"),
  });
}

const chosen = (optionId: string): RequestPermissionResponse => ({ outcome: { outcome: "selected", optionId } });

/** Returns the result of its last call that the model received. */
function lastResult({ provider }: AcpTest): string {
  const results = provider.exchanges
    .at(-1)
    ?.context.flatMap((item) => (item.type === "tool_result" ? [item.output] : []));
  return results?.at(-1) ?? assert.fail("no call was answered");
}

test("[P4] nothing is written before the user was asked, and the question shows the change", async (t) => {
  const world = await writing(t);
  const questions: RequestPermissionRequest[] = [];
  let wasThere = true;
  const connection = await world.connect({
    onPermission: async (question) => {
      questions.push(question);
      wasThere = existsSync(join(world.project, "1.txt"));
      const seen = connection.updates(question.sessionId).map((update) => update.sessionUpdate);
      assert.ok(seen.includes("tool_call") && seen.includes("tool_call_update"));
      return chosen("allow_once");
    },
  });
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "write");
  assert.equal(wasThere, false);
  assert.equal(existsSync(join(world.project, "1.txt")), true);
  const [question] = questions;
  assert.equal(question?.toolCall.title, "Create 1.txt");
  assert.equal(question.toolCall.kind, "edit");
  const path = join(world.project, "1.txt");
  assert.deepEqual(question.toolCall.content, [{ type: "diff", path, oldText: null, newText: "x\n" }]);
  assert.deepEqual(
    question.options.map(({ kind }) => kind),
    ["allow_once", "allow_always", "reject_once", "reject_always"],
  );
  const statuses = connection
    .updates(sessionId)
    .flatMap((update) => (update.sessionUpdate === "tool_call_update" ? [update.status] : []));
  assert.deepEqual(statuses, ["pending", "in_progress", "completed"]);
});

test("[P5] [P4] the user is not asked about a call that leads out of the folders, or that changes nothing", async (t) => {
  const calls = [
    { calls: "write", with: { path: "/etc/passwd", content: "x" } },
    { calls: "edit", with: { path: "../elsewhere.txt", find: "a", replace: "b" } },
    { calls: "run", with: { command: "ls", cwd: "/" } },
    { calls: "edit", with: { path: "none.txt", find: "a", replace: "b" } },
  ];
  const world = await acpTest(t, { script: (_call, n) => (n === 1 ? calls : "done") });
  const connection = await world.connect({ onPermission: () => assert.fail("a person was asked") });
  const { sessionId } = await connection.begin();
  assert.equal((await connection.prompt(sessionId, "out")).stopReason, "end_turn");
  const outputs = world.provider.exchanges
    .at(-1)
    ?.context.flatMap((item) => (item.type === "tool_result" ? [item.output] : []));
  assert.equal(outputs?.length, 4);
  for (const output of outputs.slice(0, 3))
    assert.match(output, /^failed: \S+ is not open to this session; its folders are: /);
  assert.match(outputs[3] ?? "", /^failed: none.txt does not exist/);
});

test("[P4] a permanent permission is stored for the workspace, across connections; a single one is not", async (t) => {
  const world = await writing(t);
  let asked = 0;
  const answering = (optionId: string): ConnectOptions => ({
    onPermission: async () => {
      asked += 1;
      return chosen(optionId);
    },
  });
  const first = await world.connect(answering("allow_once"));
  const { sessionId } = await first.begin();
  await first.prompt(sessionId, "write");
  await first.leave();
  const second = await world.connect(answering("allow_always"));
  await second.load(sessionId);
  await second.prompt(sessionId, "write");
  assert.equal(asked, 2);
  await second.prompt(sessionId, "write");
  const third = await world.connect(answering("reject_once"));
  const other = await third.begin();
  await third.prompt(other.sessionId, "write");
  assert.equal(asked, 2);
  assert.equal(existsSync(join(world.project, "7.txt")), true);
});

test("[P4] everything except a clear yes is a no, with a reason for the model", async (t) => {
  const world = await writing(t);
  const cases: [unknown, RegExp][] = [
    [chosen("reject_once"), /denied: the user did not allow/],
    [{ outcome: { outcome: "cancelled" } }, /denied: the user cancelled the question/],
    [chosen("allow_everything"), /denied: the client's answer was none of the offered options/],
    [{ outcome: { outcome: "granted" } }, /denied: the client's answer was none of the offered options/],
    [{}, /denied: the client's answer was none of the offered options/],
    [{ outcome: null }, /denied: the client's answer was none of the offered options/],
  ];
  let answer: unknown = null;
  const connection = await world.connect({ onPermission: async () => answer as RequestPermissionResponse });
  const { sessionId } = await connection.begin();
  for (const [given, reason] of cases) {
    answer = given;
    assert.equal((await connection.prompt(sessionId, "write")).stopReason, "end_turn");
    assert.match(lastResult(world), reason);
  }
  const failing = await world.connect({
    onPermission: async () => {
      throw new RangeError("the dialog broke");
    },
  });
  await failing.load(sessionId);
  assert.equal((await failing.prompt(sessionId, "write")).stopReason, "end_turn");
  assert.match(lastResult(world), /denied: the client could not be asked/);
  for (let n = 1; n < 20; n += 2) assert.equal(existsSync(join(world.project, `${n}.txt`)), false);
});

test("[P4] a question is withdrawn with its turn", async (t) => {
  const world = await writing(t);
  const asked = Promise.withResolvers<void>();
  const withdrawn = Promise.withResolvers<void>();
  const connection = await world.connect({
    onPermission: (_question, signal) => {
      asked.resolve();
      signal.addEventListener("abort", () => withdrawn.resolve(), { once: true });
      return new Promise(() => {});
    },
  });
  const { sessionId } = await connection.begin();
  const prompt = connection.prompt(sessionId, "write");
  await asked.promise;
  await connection.agent.notify("session/cancel", { sessionId });
  assert.equal((await prompt).stopReason, "cancelled");
  await withdrawn.promise;
  assert.equal(existsSync(join(world.project, "1.txt")), false);
});

test("[P4] in mode ask nothing is written, and the user is not asked", async (t) => {
  const world = await writing(t);
  const connection = await world.connect({ onPermission: async () => assert.fail("asked") });
  const { sessionId } = await connection.begin();
  await connection.agent.request("session/set_mode", { sessionId, modeId: "ask" });
  await connection.prompt(sessionId, "write");
  assert.match(lastResult(world), /mode "ask" does not allow the tool "write"/);
  assert.equal(existsSync(join(world.project, "1.txt")), false);
});

test("[P4] in mode accept-edits files are changed without a question, and commands are asked about", async (t) => {
  const world = await acpTest(t, {
    script: (_call, n) =>
      n === 1
        ? [
            { calls: "write", with: { path: "1.txt", content: "x\n" } },
            { calls: "run", with: { command: "echo x > 2.txt" } },
          ]
        : "done",
  });
  const asked: unknown[] = [];
  const connection = await world.connect({
    onPermission: async ({ toolCall }) => (asked.push(toolCall.title), chosen("reject_once")),
  });
  const { sessionId } = await connection.begin();
  await connection.agent.request("session/set_mode", { sessionId, modeId: "accept-edits" });
  await connection.prompt(sessionId, "write");
  assert.deepEqual(asked, ["Run echo x > 2.txt"]);
  assert.equal(existsSync(join(world.project, "1.txt")), true);
  assert.equal(existsSync(join(world.project, "2.txt")), false);
});

test("[P4] in mode plan nothing is written, the model is asked for a plan, and the user's words stay as they were", async (t) => {
  const world = await writing(t);
  const connection = await world.connect({ onPermission: async () => assert.fail("asked") });
  const { sessionId } = await connection.begin();
  await connection.agent.request("session/set_mode", { sessionId, modeId: "plan" });
  await connection.prompt(sessionId, "write");
  assert.equal(existsSync(join(world.project, "1.txt")), false);
  assert.match(JSON.stringify(world.provider.exchanges.at(-1)?.context), /write.*Plan mode: /);
  const again = await world.connect();
  await again.load(sessionId);
  const [first] = again.updates(sessionId);
  assert.deepEqual(first?.sessionUpdate === "user_message_chunk" && first.content, { type: "text", text: "write" });
});

test("[P4] what the user always rejects is not asked again in the session, and is asked in another one", async (t) => {
  const world = await writing(t);
  let asked = 0;
  const connection = await world.connect({ onPermission: async () => ((asked += 1), chosen("reject_always")) });
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "write");
  await connection.prompt(sessionId, "write");
  assert.equal(asked, 1);
  assert.match(lastResult(world), /denied: the user does not allow such calls in this session/);
  const other = await connection.begin();
  await connection.prompt(other.sessionId, "write");
  assert.equal(asked, 2);
});

test("[P1] [T7] a prompt of mode plan that is repeated in another mode asks for no plan, and the other way round", async (t) => {
  const world = await acpTest(t, { script: () => "fine" });
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  const last = (): string => JSON.stringify(world.provider.exchanges.at(-1)?.context.at(-1));
  const setMode = (modeId: string) => connection.agent.request("session/set_mode", { sessionId, modeId });
  await setMode("plan");
  await connection.prompt(sessionId, "change it");
  assert.match(last(), /change it.*Plan mode: /);
  await setMode("edit");
  await connection.prompt(sessionId, "/retry");
  assert.match(last(), /MODE: edit.*change it"/);
  assert.doesNotMatch(last(), /Plan mode: /);
  await setMode("plan");
  await connection.prompt(sessionId, "/retry");
  assert.match(last(), /change it.*Plan mode: /);
  assert.equal(last().split("Plan mode: ").length, 2);
});

test("[F11] [P4] a user who is asked lets the next call of the model pass its budget, or not", async (t) => {
  const world = await acpTest(t, { script: () => "the answer" });
  const answers = ["allow_once", "reject_once"];
  const questions: RequestPermissionRequest[] = [];
  const connection = await world.connect({
    onPermission: async (question) => {
      questions.push(question);
      return chosen(answers.shift() ?? "");
    },
  });
  const { sessionId } = await connection.begin();
  const owner = await world.aptove.engine.keys.owner();
  const budget = { scope: "person", period: "total", unit: "tokens", limit: 0, onLimit: "wait" } as const;
  await world.aptove.engine.people.budgets.set(owner, budget);
  assert.equal((await connection.prompt(sessionId, "a question")).stopReason, "end_turn");
  assert.equal(world.provider.exchanges.length, 1);
  assert.equal(questions[0]?.toolCall.title, "Let the next call of the model pass its budget");
  const shown = connection
    .updates(sessionId)
    .flatMap((update) =>
      update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? [update.content.text] : [],
    );
  assert.equal(shown.join(""), "the answer");

  await assert.rejects(connection.prompt(sessionId, "more"), /a person did not let the call of the model pass/);
  assert.equal(world.provider.exchanges.length, 1);
});

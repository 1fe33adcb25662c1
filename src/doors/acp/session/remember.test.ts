/** The memory of a workspace in an editor (M3): the question of `remember`, and what the next session is given. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestPermissionRequest } from "@agentclientprotocol/sdk";
import { acpTest } from "../../../../testing/acp/acp-test.ts";

const fact = "We deploy on Fridays only.";

test("[M3] [P4] an editor is asked about each fact, with its text, also where edits are accepted; the next session has it", async (t) => {
  const world = await acpTest(t, {
    script: ({ items }) =>
      JSON.stringify(items.at(-1)).includes("remember it") ? [{ calls: "remember", with: { fact } }] : "done",
  });
  const questions: RequestPermissionRequest[] = [];
  const connection = await world.connect({
    onPermission: async (question) => {
      questions.push(question);
      return { outcome: { outcome: "selected", optionId: "allow_once" } };
    },
  });
  const { sessionId } = await connection.begin();
  await connection.agent.request("session/set_mode", { sessionId, modeId: "accept-edits" });
  await connection.prompt(sessionId, "remember it");
  const [question] = questions;
  assert.deepEqual(
    [question?.toolCall.title, question?.options.map(({ kind }) => kind)],
    ["Remember a fact in this workspace", ["allow_once", "reject_once"]],
  );
  assert.match(JSON.stringify(question?.toolCall.content), /We deploy on Fridays only/);
  const next = await connection.begin();
  await connection.prompt(next.sessionId, "when do we deploy?");
  const { items } = world.provider.exchanges.at(-1)?.call ?? assert.fail();
  assert.match(JSON.stringify(items.at(-1)), /\[MEMORY\].*We deploy on Fridays only/);
  const notices = JSON.stringify(connection.updates(next.sessionId));
  assert.match(notices, /memory: 1 fact/);
});

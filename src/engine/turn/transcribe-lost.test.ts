/** A turn whose process died reaches the transcript of its workspace with the recovery. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { testEngine, testParts, testRunner, untilEvent } from "../../../testing/engine.ts";
import type { ApiKey, Caller } from "../../domain/caller.ts";
import { newId } from "../../domain/ids.ts";
import { memoryTranscripts } from "../../workspace/memory/memory-transcripts.ts";
import { currentTranscriptName } from "../../workspace/transcript-store.ts";
import { createTranscripts } from "../../workspace/transcript/transcripts.ts";
import { createEngine } from "../create-engine.ts";
import type { EngineDependencies } from "../dependencies.ts";

const workspaceId = "default";
const never = new Promise<void>(() => {});

interface Lost {
  /** Who requests the turn. By default the owner of the data. */
  caller?: (owner: Caller, deps: EngineDependencies) => Promise<Caller>;
  /** True if the process dies before the model says anything. */
  isSilent?: boolean;
}

/** Returns `session.md` after a process has died in a turn and another one has recovered it. Null: there is none. */
async function afterRecovery(t: TestContext, { caller: choose, isSilent = false }: Lost): Promise<string | null> {
  const store = memoryTranscripts();
  const transcripts = createTranscripts({ store, now: Date.now, report: (message) => assert.fail(message) });
  const deps = testParts({
    script: () => (isSilent ? [{ waits: never }] : [{ says: ["half ", "an ", never, "answer"] }]),
    isAlive: ({ id }) => id !== deps.runner.id,
    conversation: { bootPrompt: "Answer in verse." },
    workspaces: {
      ofDevice: () => assert.fail("no device is paired here"),
      boundTo: () => assert.fail("no device is paired here"),
      bind: () => assert.fail("no device is paired here"),
      settings: async () => null,
      nextBeginning: (id) => transcripts.nextBeginning(id),
      turnsFinished: (id, turns) => transcripts.turnsFinished(id, turns),
      settle: (id) => transcripts.sync(id),
    },
  });
  const dying = await createEngine(deps);
  t.after(() => dying.close({ graceMs: 0 }));
  const owner = await dying.keys.owner();
  const caller = (await choose?.(owner, deps)) ?? owner;
  const turn = await dying.turns.run(caller, { instruction: "one", workspaceId });
  await untilEvent(turn, isSilent ? "step_started" : "text_delta");
  const { engine } = await testEngine(t, { ...deps, runner: testRunner() });
  await engine.close();
  const file = await store.read(workspaceId, currentTranscriptName);
  return file?.content == null ? null : Buffer.from(file.content).toString();
}

test("[W4] [R2] a lost turn is in session.md when it is recovered, with the half of its answer and its end", async (t) => {
  const text = await afterRecovery(t, {});
  assert.match(
    text ?? "",
    /\n## System\n\nAnswer in verse\.\n\n## User\n\none\n\n## Assistant\n\nhalf an \n\n## System\n\nThe turn failed: .* \(runner_lost\)\n$/,
  );
});

test("[W4] [R2] of a lost turn that did nothing the instruction and the end are in session.md", async (t) => {
  const text = await afterRecovery(t, { isSilent: true });
  assert.match(text ?? "", /\n## User\n\none\n\n## System\n\nThe turn failed: .* \(runner_lost\)\n$/);
});

test("[W1] a recovery writes nothing down for a caller to whom a workspace is a label, or may have been", async (t) => {
  const member = await afterRecovery(t, {
    caller: async (owner, { records }) => {
      const user = { id: newId(), orgId: owner.orgId, name: "M", email: null, externalId: null, disabledAt: null };
      await records.people.insertUser({ ...user, role: "member", createdAt: 1 });
      return { orgId: owner.orgId, userId: user.id, role: "member" };
    },
  });
  assert.equal(member, null);
  const withLess = await afterRecovery(t, {
    caller: async (owner, { records }) => {
      await records.keys.insert({ ...lesserKey, orgId: owner.orgId, userId: owner.userId });
      return { ...owner, role: "member", keyId: lesserKey.id };
    },
  });
  assert.equal(withLess, null);
});

const lesserKey: Omit<ApiKey, "orgId" | "userId"> = {
  id: newId(),
  name: "less",
  prefix: "x",
  hash: "h",
  deviceId: null,
  roleMax: "member",
  createdAt: 1,
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
  workspaceId: null,
  limits: null,
};

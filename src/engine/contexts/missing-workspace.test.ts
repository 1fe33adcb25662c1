/** A turn that names a workspace which this server does not have (W1). */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test, type TestContext } from "node:test";
import { alice, testEngine, type TestEngine } from "../../../testing/engine.ts";
import type { FinishedTurn } from "../../domain/turn.ts";

/** An engine whose data folder has the workspace `here`, without settings of its own. */
async function world(t: TestContext, here: string): Promise<TestEngine> {
  const made: TestEngine = await testEngine(t, {
    workspaces: {
      ofDevice: () => assert.fail("no device is paired here"),
      boundTo: () => assert.fail("no device is paired here"),
      bind: () => assert.fail("no device is paired here"),
      settings: async (id) => (id === here ? { ...made.deps } : null),
      nextBeginning: () => assert.fail("no session continues here"),
      turnsFinished: async () => {},
      settle: async () => {},
    },
  });
  return made;
}

const missing = ({ warnings }: FinishedTurn): string[] =>
  warnings.filter(({ code }) => code === "workspace_missing").map(({ message }) => message);

test("[W1] a turn that names a workspace of another server runs, and says once that nothing of the workspace counts", async (t) => {
  const elsewhere = randomUUID();
  const { ask } = await world(t, randomUUID());
  const first = await ask("one", { workspaceId: elsewhere });
  assert.equal(first.status, "completed");
  assert.match(
    missing(first).join("\n"),
    new RegExp(`^this server has no workspace ${elsewhere}, so the turn has nothing`),
  );
  const { sessionId } = first;
  assert.deepEqual(missing(await ask("two", { sessionId })), []);
  const other = randomUUID();
  assert.match(missing(await ask("three", { sessionId, workspaceId: other })).join("\n"), new RegExp(other));
});

test("[W1] a workspace that is here, `default`, a label, and an id of a caller without workspaces cause no such warning", async (t) => {
  const here = randomUUID();
  const { ask, engine } = await world(t, here);
  for (const workspaceId of [here, "default", "laptop of Eve"])
    assert.deepEqual(missing(await ask("hi", { workspaceId })), []);
  const member = { ...alice, role: "member" } as const;
  const turn = await engine.turns.run(member, { instruction: "hi", repo: null, workspaceId: randomUUID() });
  assert.deepEqual(missing(await turn.finished), []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { newId } from "../../domain/ids.ts";

test("[P3] [H4] a device reads and changes sessions of its own workspace only, also those of its user and public ones", async (t) => {
  const { engine, ask } = await testEngine(t);
  const [here, elsewhere] = [newId(), newId()];
  const mine = await ask("one", { workspaceId: elsewhere });
  await engine.sessions.update(alice, mine.sessionId, { isPublic: true });
  const device = { ...alice, workspaceId: here };
  for (const read of [
    () => engine.sessions.get(device, mine.sessionId),
    () => engine.turns.get(device, mine.id),
    () => engine.tree.graph(device, mine.sessionId),
    () => engine.sessions.update(device, mine.sessionId, { name: "taken" }),
    () => engine.turns.run(device, { instruction: "two", sessionId: mine.sessionId }),
  ]) {
    await assert.rejects(read(), hasCode("not_found"));
  }
  assert.equal((await engine.sessions.get({ ...alice, workspaceId: elsewhere }, mine.sessionId)).id, mine.sessionId);
});

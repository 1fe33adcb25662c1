/** The memory of workspaces over HTTP (M3). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { testDoor, type TestDoor } from "../../../../testing/http-door.ts";
import { newId } from "../../../domain/ids.ts";
import { memoryFacts } from "../../../workspace/memory/memory-facts.ts";
import { memoryWorkspaces } from "../../../workspace/memory/memory-workspaces.ts";

const at = "/api/workspaces/default/memory";

async function doorWithMemory(t: TestContext): Promise<TestDoor> {
  const store = memoryWorkspaces();
  await store.create({ id: "default", at: 0 });
  return await testDoor(t, {
    workspaces: {
      ofDevice: () => assert.fail("no device is paired here"),
      boundTo: () => assert.fail("no device is paired here"),
      bind: () => assert.fail("no device is paired here"),
      settings: async () => null,
      nextBeginning: () => assert.fail("no session continues here"),
      turnsFinished: async () => {},
      settle: async () => {},
      memory: memoryFacts(store),
    },
  });
}

test("[M3] [H2] a fact is added, listed, changed, given to a turn and forgotten", async (t) => {
  const door = await doorWithMemory(t);
  const { memory } = door.client();
  const made = await memory.add("default", { text: "We deploy on Fridays." });
  assert.equal((await memory.add("default", { text: " We deploy on Fridays.\n" })).id, made.id);
  assert.deepEqual(await memory.list("default"), { facts: [made], faults: [] });
  const changed = await memory.change("default", made.id, { text: "We deploy daily.", expectedHash: made.hash });
  assert.deepEqual(await memory.get("default", made.id), changed);
  const again = { json: { text: "x", expectedHash: made.hash } };
  await door.refused("fact_changed", `PUT ${at}/${made.id}`, again);
  const answer = await door.client().execute({ instruction: "when?", workspaceId: "default" });
  const turn = await door.client().turns.get(answer.turnId);
  const { id, hash: contentHash } = changed;
  assert.deepEqual(turn.manifest.facts, [
    { id, workspaceId: "default", contentHash, sourceTurnId: null, wasSent: true },
  ]);
  const forgotten = {
    turns: [{ sessionId: turn.sessionId, turnId: turn.id, sequence: 1, isSource: false }],
    turnsOfOthers: 0,
  };
  assert.deepEqual(await memory.forget("default", id), { ids: [id], ...forgotten });
  assert.deepEqual(await memory.forget("default", id), { ids: [], ...forgotten });
  const from = await memory.add("default", { text: "From a turn.", sourceTurnId: turn.id });
  assert.deepEqual(from.source, { sessionId: turn.sessionId, turnId: turn.id });
});

test("[M3] [H3] bad requests are refused with a code", async (t) => {
  const door = await doorWithMemory(t);
  await door.refused("fact_invalid", `POST ${at}`, { json: { text: " " } });
  await door.refused("request_invalid", `POST ${at}`, { json: { text: "x".repeat(5_000) } });
  await door.refused("fact_invalid", `POST ${at}`, { json: { text: "é".repeat(4_000) } });
  await door.refused("not_found", `POST ${at}`, { json: { text: "x", sourceTurnId: newId() } });
  await door.refused("not_found", `GET ${at}/f-none`);
  await door.refused("not_found", `GET ${at}/..%2Fworkspace`);
  await door.refused("not_found", `DELETE ${at}/f-none`);
  await door.refused("workspace_unknown", "GET /api/workspaces/other/memory");
  await door.refused("workspace_unknown", `GET ${at}`, { as: await door.person("member") });
  await door.refused("forbidden", `POST ${at}`, { json: { text: "x" }, as: await door.person("reader") });
});

// `refused` also checks that the document has the code for the route.
test("[H2] [M3] the memory of what is no workspace is refused with a code that the document has", async (t) => {
  const door = await doorWithMemory(t);
  const mine = "/api/workspaces/mine/memory";
  const id = newId();
  await door.refused("workspace_invalid", `POST ${mine}`, { json: { text: "x" } });
  await door.refused("workspace_invalid", `PUT ${mine}/${id}`, { json: { text: "x" } });
  await door.refused("workspace_invalid", `DELETE ${mine}/${id}`);
});

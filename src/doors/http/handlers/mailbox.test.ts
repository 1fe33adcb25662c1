import assert from "node:assert/strict";
import { test } from "node:test";
import { testDoor } from "../../../../testing/http-door.ts";
import type { Script } from "../../../providers/scripted/scripted.ts";

/** A model that starts a subagent when an instruction requests one, and answers with one word otherwise. */
const script: Script = (call) => {
  const last = call.items.at(-1);
  const text = JSON.stringify(last);
  if (last?.type === "user" && text.includes("begin one")) {
    return [{ calls: "spawn_subagent", with: { instruction: "work", name: "worker" } }];
  }
  return text.includes("[MAILBOX]") ? "thanks" : "fine";
};

test("[A1] [A2] [H2] the mailbox is read and fired by its routes, and by `fire` in a request; streams report subagents", async (t) => {
  const { client, call, refused, engine, admin } = await testDoor(t, { script, conversation: { subagents: true } });
  const api = client();
  const seen: string[] = [];
  const onEvent = ({ event }: { event: { type: string } }): void =>
    void ("name" in event && seen.push(String(event.name)));
  const { sessionId, turnId } = await api.execute({ instruction: "begin one" }, { onEvent });
  assert.ok(seen.includes("aptove.subagent_started"));

  const { turns } = await api.sessions.turns(sessionId);
  const [subagent] = turns.filter(({ kind }) => kind === "async_subagent");
  assert.ok(subagent !== undefined);
  assert.partialDeepStrictEqual(subagent, { spawnedBy: turnId, subagent: { name: "worker", owner: null, level: 1 } });
  for await (const _event of api.events(subagent.id));
  assert.equal((await api.sessions.lastTurn(sessionId)).id, turnId, "the last turn is the agent's");

  const mailbox = await api.sessions.mailbox(sessionId, { waiting: true });
  assert.deepEqual([mailbox.nextAfter, mailbox.runningTurnIds], [null, []]);
  const [message] = mailbox.messages;
  assert.partialDeepStrictEqual(message, { number: 1, turnId: subagent.id, name: "worker", takenBy: null });

  const fired = (await (await call(`POST /api/sessions/${sessionId}/fire`, { json: {} })).json()) as { turnId: string };
  const [taken] = (await api.sessions.mailbox(sessionId)).messages;
  assert.equal(taken?.takenBy, fired.turnId);
  const turn = await api.turns.get(fired.turnId);
  assert.deepEqual([turn.parentId, turn.manifest.mailbox?.length, turn.subagent], [turnId, 1, null]);
  await refused("mailbox_empty", `POST /api/sessions/${sessionId}/fire`, { json: {} });
  await refused("request_invalid", `POST /api/sessions/${sessionId}/fire`, { json: { ifBusy: "steer" } });
  const execute = "POST /api/ai/agent/execute";
  await refused("mailbox_empty", execute, { json: { sessionId, fire: true } });
  await refused("request_invalid", execute, { json: { fire: true, fork: { turnId } } });

  // V2: a session's events continue from one turn of the agent to the next, and skip the turns of subagents.
  const [first] = await engine.turns.list(admin, sessionId, { before: 2, limit: 1 });
  const streamed = await call(`GET /api/sessions/${sessionId}/events?after=${first?.id}:1`);
  const runs = [...(await streamed.text()).matchAll(/"type":"RUN_STARTED".*?"runId":"([^"]+)"/g)].map(([, id]) => id);
  assert.deepEqual(runs, [fired.turnId]);
  await refused("event_id_unknown", `GET /api/sessions/${sessionId}/events?after=${subagent.id}:1`);
});

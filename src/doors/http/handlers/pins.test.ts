import assert from "node:assert/strict";
import { test } from "node:test";
import { testDoor } from "../../../../testing/http-door.ts";

test("[M6] [H2] a passage is pinned, listed and unpinned by its routes, and the manifest of the next turn has it", async (t) => {
  const { client, refused } = await testDoor(t, { script: () => "the key rotates on Tuesday" });
  const api = client();
  const { sessionId, turnId } = await api.execute({ instruction: "when?" });
  const pin = await api.sessions.pin(sessionId, { turnId, text: "on Tuesday" });
  const passage = { turnId, part: "answer", from: 16, to: 26 };
  assert.partialDeepStrictEqual(pin, { ...passage, number: 1, text: "on Tuesday", isInHistory: true });
  assert.deepEqual(await api.sessions.pin(sessionId, { turnId, part: "answer", from: 16, to: 26 }), pin);
  assert.deepEqual(await api.sessions.pins(sessionId), [pin]);
  const next = await api.execute({ instruction: "and then?", sessionId, compact: true });
  const { manifest } = await api.turns.get(next.turnId);
  const { contentHash } = pin;
  assert.deepEqual(manifest.pins, [{ ...passage, contentHash, given: "passage", wasSent: true }]);
  const at = `POST /api/sessions/${sessionId}/pins`;
  await refused("pin_invalid", at, { json: { turnId, text: "on Monday" } });
  await refused("request_invalid", at, { json: { turnId, part: "all" } });
  assert.deepEqual(await api.sessions.unpin(sessionId, pin.id), []);
  assert.deepEqual(await api.sessions.unpin(sessionId, pin.id), []);
});

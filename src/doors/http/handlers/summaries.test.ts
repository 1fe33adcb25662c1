/** The routes of summaries, by the typed client (M5). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testDoor } from "../../../../testing/http-door.ts";
import { newId } from "../../../domain/ids.ts";
import { offlineProvider } from "../../../providers/offline/offline.ts";

test("[M5] a summary is begun, awaited, listed, read to its bytes, and shown with its session", async (t) => {
  const door = await testDoor(t, { provider: offlineProvider() });
  const client = door.client();
  const { sessionId, turnId } = await client.execute({ instruction: "Read src/walrus/size.ts" });
  const begun = await client.summaries.start(sessionId);
  const summary = await client.summaries.get(begun.id, { waitMs: 10_000 });
  assert.partialDeepStrictEqual(summary, { status: "completed", sessionId, throughTurnId: turnId, turnCount: 1 });
  assert.match(summary.note ?? "", /offline model: it does not think/);
  for (const { sources } of summary.lines) assert.partialDeepStrictEqual(sources, [{ turnId, sequence: 1 }]);
  assert.deepEqual(await client.summaries.list(sessionId), [summary]);
  assert.deepEqual(await client.summaries.stop(begun.id), summary);
  const request = Buffer.from(await client.summaries.request(begun.id, 1));
  assert.ok(request.includes("src/walrus/size.ts") && request.length === summary.calls[0]?.requestBytes);
  assert.ok((await client.summaries.response(begun.id, 1)).length > 0);
  const text = summary.lines[0]?.text;
  assert.partialDeepStrictEqual(await client.sessions.get(sessionId), { summary: { id: begun.id, text } });
  assert.partialDeepStrictEqual((await client.sessions.list()).sessions[0]?.summary, { id: begun.id });
  const [hit] = await client.search("began walrus");
  assert.ok(hit?.matches.some(({ where, turnId: found }) => where === "summary" && found === turnId));
});

test("[M5] what is not there is not found, and an empty session has nothing to summarize", async (t) => {
  const door = await testDoor(t, { provider: offlineProvider() });
  const client = door.client();
  const { id } = await client.sessions.create();
  await assert.rejects(client.summaries.start(id), { code: "nothing_to_summarize" });
  await assert.rejects(client.summaries.get(newId()), { code: "not_found" });
  await assert.rejects(client.summaries.stop(newId()), { code: "not_found" });
});

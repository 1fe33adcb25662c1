/** Deleting, cancelling and reading responses, and inputs that name stored items (O1, O2, O5). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testOpenAi } from "../../../../testing/openai-door.ts";

test("[O2] deleting hides the id, and what continues the response keeps its history", async (t) => {
  const { openai, provider, wireError } = await testOpenAi(t, { remembers: false });
  const first = await openai.responses.create({ input: "one" });
  const second = await openai.responses.create({ input: "two", previous_response_id: first.id });
  await openai.responses.delete(first.id);
  const never = `resp_${"0".repeat(32)}`;
  for (const line of [
    "GET /v1/responses/ID",
    "DELETE /v1/responses/ID",
    "POST /v1/responses/ID/cancel",
    "GET /v1/responses/ID/input_items",
  ]) {
    const [gone, unknown] = await Promise.all([first.id, never].map((id) => wireError(line.replace("ID", id))));
    assert.equal(gone?.status, 404, line);
    assert.deepEqual(
      { ...gone, message: gone?.message.replace(first.id, "ID") },
      { ...unknown, message: unknown?.message.replace(never, "ID") },
    );
  }
  await assert.rejects(openai.responses.create({ input: "x", previous_response_id: first.id }), {
    code: "previous_response_not_found",
  });
  await openai.responses.create({ input: "three", previous_response_id: second.id });
  assert.equal(provider.exchanges[2]?.call.items.length, 5);
});

test("[O1] a response in the background is there at once, and cancelling it twice is harmless", async (t) => {
  const held = Promise.withResolvers<void>();
  const { openai } = await testOpenAi(t, { script: () => [{ says: ["begun ", held.promise, "never"] }] });
  const { id, status } = await openai.responses.create({ input: "long", background: true });
  assert.equal(status, "in_progress");
  assert.equal((await openai.responses.retrieve(id)).status, "in_progress");
  for await (const event of await openai.responses.retrieve(id, { stream: true })) {
    if (event.type === "response.output_text.delta") break;
  }
  const cancelled = [await openai.responses.cancel(id), await openai.responses.cancel(id)];
  assert.deepEqual(
    cancelled.map((response) => [response.status, response.background]),
    [
      ["cancelled", true],
      ["cancelled", true],
    ],
  );
  held.resolve();
});

test("[O1] only a response in the background can be cancelled", async (t) => {
  const { openai } = await testOpenAi(t);
  const { id } = await openai.responses.create({ input: "one" });
  await assert.rejects(openai.responses.cancel(id), { status: 400 });
});

test("[O1] input items are listed in pages, in either order", async (t) => {
  const { openai } = await testOpenAi(t);
  const { id } = await openai.responses.create({
    input: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "one" },
      { role: "assistant", content: "first" },
      { role: "user", content: "two" },
    ],
  });
  const texts: string[] = [];
  for await (const item of openai.responses.inputItems.list(id, { limit: 2, order: "asc" })) {
    assert.ok(item.type === "message");
    const [part] = item.content as { text: string }[];
    texts.push(`${item.role}: ${part?.text}`);
  }
  assert.deepEqual(texts, ["system: Be brief.", "user: one", "assistant: first", "user: two"]);
  const newest = await openai.responses.inputItems.list(id, { limit: 1 });
  assert.partialDeepStrictEqual(newest.data, [{ role: "user" }]);
  await assert.rejects(openai.responses.inputItems.list(id, { limit: 0 }), { status: 400 });
});

test("[O1] an item reference stands for the stored item; a foreign one and one that never was are the same error", async (t) => {
  const { openai, provider, person, clientOf } = await testOpenAi(t);
  const first = await openai.responses.create({ input: "one" });
  const [message] = first.output;
  const input = [
    { type: "item_reference" as const, id: message?.id ?? "" },
    { role: "user" as const, content: "two" },
  ];
  await openai.responses.create({ input });
  assert.deepEqual(provider.exchanges[1]?.call.items[0], { type: "assistant", text: "answer 1" });
  const stranger = clientOf(await person("member"));
  await assert.rejects(stranger.responses.create({ input }), { status: 404, param: "input" });
  await assert.rejects(openai.responses.create({ input: [{ type: "item_reference", id: "msg_x" }] }), { status: 404 });
});

test("[O5] a client that sends its whole history gets one session, and each turn is given only what is new", async (t) => {
  const { openai, engine, admin } = await testOpenAi(t);
  const history: { role: "user" | "assistant"; content: string }[] = [];
  const ids: string[] = [];
  for (let n = 1; n <= 4; n++) {
    history.push({ role: "user", content: `question ${n}` });
    const response = await openai.responses.create({ input: history, instructions: `It is ${n} o'clock.` });
    assert.equal(response.previous_response_id, null);
    history.push({ role: "assistant", content: response.output_text });
    ids.push(response.id);
  }
  const { sessions } = await engine.sessions.list(admin, {});
  assert.equal(sessions.length, 1);
  assert.equal(sessions[0]?.lastSequence, 4);
  for (const id of ids) assert.equal((await openai.responses.inputItems.list(id)).data.length, 1);
});

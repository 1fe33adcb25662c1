/** OpenAI's SDK, in the newest version and in the newest one for Node 20, drives every call that it has for this door (O1, O2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import Newest from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { ResponsesWS } from "openai/resources/responses/ws";
import ForNode20 from "openai-for-node-20";
import * as z from "zod";
import { servedOpenAi } from "./server.ts";

// Both have the same calls. The types of the newest one stand for both.
const sdks = { newest: Newest, "for Node 20": ForNode20 as unknown as typeof Newest };

for (const [name, OpenAI] of Object.entries(sdks)) {
  test(`[O1] [O2] the SDK ${name}: responses`, async (t) => {
    const { baseUrl, key } = await servedOpenAi(t);
    const { responses } = new OpenAI({ baseURL: baseUrl, apiKey: key, maxRetries: 0 });
    const first = await responses.create({ input: "one" });
    assert.equal(first.output_text, "one");
    assert.equal((await responses.retrieve(first.id)).output_text, "one");

    const stream = responses.stream({ input: "two", previous_response_id: first.id });
    const numbers: number[] = [];
    for await (const event of stream) numbers.push(event.sequence_number);
    const second = await stream.finalResponse();
    assert.equal(second.output_text, "one | two");
    assert.deepEqual(
      numbers,
      numbers.map((_number, at) => at),
    );
    const resumed: number[] = [];
    for await (const event of await responses.retrieve(second.id, { stream: true, starting_after: 2 }))
      resumed.push(event.sequence_number);
    assert.deepEqual(resumed, numbers.slice(3));

    const items = await Array.fromAsync(responses.inputItems.list(second.id));
    assert.ok(items.length > 0);
    assert.ok((await responses.inputTokens.count({ input: "how many?" })).input_tokens > 0);
    const compacted = await responses.compact({ model: "scripted-1", previous_response_id: second.id });
    const after = await responses.create({ input: [...compacted.output, { role: "user", content: "three" }] as never });
    assert.match(after.output_text, /three/);

    const place = z.object({ city: z.string() });
    const parsed = await responses.parse({ input: "where?", text: { format: zodTextFormat(place, "place") } });
    assert.deepEqual(parsed.output_parsed, { city: "San Francisco, CA" });

    const background = await responses.create({ input: "later", background: true });
    const cancelled = await responses.cancel(background.id);
    assert.ok(["cancelled", "completed"].includes(cancelled.status ?? ""));
    await responses.delete(second.id);
    await assert.rejects(responses.retrieve(second.id), { status: 404 });
  });

  test(`[O1] [O2] the SDK ${name}: conversations`, async (t) => {
    const { baseUrl, key } = await servedOpenAi(t);
    const { conversations, responses } = new OpenAI({ baseURL: baseUrl, apiKey: key, maxRetries: 0 });
    const made = await conversations.create({
      metadata: { topic: "prices" },
      items: [{ type: "message", role: "user", content: "zero" }],
    });
    await responses.create({ input: "one", conversation: made.id });
    const second = await responses.create({ input: "two", conversation: made.id });
    assert.match(second.output_text, /zero.*one.*two/);
    const listed = await Array.fromAsync(conversations.items.list(made.id, { order: "asc" }));
    assert.equal(listed.length, 5);
    const added = await conversations.items.create(made.id, {
      items: [{ type: "message", role: "user", content: "three" }],
    });
    const itemId = added.data.flatMap((item) => ("id" in item && item.id) || [])[0] ?? assert.fail();
    await conversations.items.retrieve(itemId, { conversation_id: made.id });
    await conversations.items.delete(itemId, { conversation_id: made.id });
    const changed = await conversations.update(made.id, { metadata: { topic: "taxes" } });
    assert.deepEqual(
      [changed.metadata, (await conversations.retrieve(made.id)).metadata],
      [{ topic: "taxes" }, { topic: "taxes" }],
    );
    assert.equal((await conversations.delete(made.id)).deleted, true);
    await assert.rejects(conversations.retrieve(made.id), { status: 404 });
  });

  test(`[O1] [O5] the SDK ${name}: models and chat completions, whole, as a stream, parsed, and with its own loop of tools`, async (t) => {
    const { baseUrl, key } = await servedOpenAi(t);
    const openai = new OpenAI({ baseURL: baseUrl, apiKey: key, maxRetries: 0 });
    const [{ id } = assert.fail()] = await Array.fromAsync(openai.models.list());
    assert.equal((await openai.models.retrieve(id)).id, id);
    const messages = [{ role: "user" as const, content: "one" }];
    const asked = { model: "scripted-1", messages };
    const whole = await openai.chat.completions.create(asked);
    assert.equal(whole.choices[0]?.message.content, "one");
    const streamed = await openai.chat.completions.stream(asked).finalChatCompletion();
    assert.equal(streamed.choices[0]?.message.content, "one");
    const format = {
      type: "json_schema" as const,
      json_schema: { name: "place", schema: { type: "object", properties: { city: { type: "string" } } } },
    };
    const parsed = await openai.chat.completions.parse({ ...asked, response_format: format });
    assert.match(parsed.choices[0]?.message.content ?? "", /San Francisco/);
    const cities: unknown[] = [];
    const runner = openai.chat.completions.runTools({
      ...asked,
      tools: [
        {
          type: "function",
          function: {
            name: "weather",
            description: "The weather of a city.",
            parameters: { type: "object", properties: { city: { type: "string" } } },
            parse: JSON.parse,
            function: ({ city }: { city: string }) => {
              cities.push(city);
              return "sunny";
            },
          },
        },
      ],
    });
    assert.match((await runner.finalContent()) ?? "", /sunny/);
    assert.deepEqual(cities, ["San Francisco, CA"]);
  });
}

test("[O1] the SDK's WebSocket creates and continues responses", async (t) => {
  const { baseUrl, key } = await servedOpenAi(t);
  const socket = new ResponsesWS(new Newest({ baseURL: baseUrl, apiKey: key }));
  t.after(() => socket.close());
  const answers: string[] = [];
  const done = Promise.withResolvers<void>();
  socket.on("response.completed", ({ response }) => {
    answers.push(
      response.output
        .flatMap((item) => (item.type === "message" ? item.content : []))
        .map((part) => ("text" in part ? part.text : ""))
        .join(""),
    );
    if (answers.length === 2) done.resolve();
    else socket.send({ type: "response.create", input: "two", previous_response_id: response.id } as never);
  });
  socket.on("error", (error) => done.reject(error));
  socket.send({ type: "response.create", input: "one" } as never);
  await done.promise;
  assert.deepEqual(answers, ["one", "one | two"]);
});

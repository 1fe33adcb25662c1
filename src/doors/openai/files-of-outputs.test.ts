/** Images and files of function outputs: what a client's tool such as Codex's `view_image` returns (I1, O1, O5). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type OpenAI from "openai";
import { testOpenAi } from "../../../testing/openai-door.ts";
import { mediaOf, type HistoryItem } from "../../domain/history.ts";
import { scriptedProvider } from "../../providers/scripted/scripted.ts";

type Item = OpenAI.Responses.ResponseInputItem;
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const image = { type: "input_image" as const, image_url: `data:image/png;base64,${png}` };
const text = (words: string) => ({ type: "input_text" as const, text: words });
const notes = {
  type: "input_file" as const,
  filename: "notes.txt",
  file_data: `data:text/plain;base64,${Buffer.from("buy milk").toString("base64")}`,
};
const user = (content: string): Item => ({ type: "message", role: "user", content });
const call = (call_id: string): Item => ({ type: "function_call", call_id, name: "view_image", arguments: "{}" });
const output = (call_id: string, ...parts: object[]): Item =>
  ({ type: "function_call_output", call_id, output: parts }) as Item;
const tools = [{ type: "function" as const, name: "view_image", parameters: { type: "object" }, strict: false }];

async function testOutputs(t: TestContext) {
  const scripted = scriptedProvider({
    script: ({ items }) =>
      JSON.stringify(items.at(-1)).includes("go") ? [{ calls: "view_image", with: {}, callId: "a" }] : "a dot",
  });
  const provider = { ...scripted, takes: () => ["image/png"] };
  const urls = { read: async () => ({ content: Buffer.from(png, "base64"), mediaType: "image/png" }) };
  return { ...(await testOpenAi(t, { provider, urls })), exchanges: scripted.exchanges };
}

/** The results as the model receives them: their texts, and the types of their images. */
function results(items: readonly HistoryItem[] = []): unknown[] {
  return items.flatMap((item) =>
    item.type === "tool_result" ? [[item.output, mediaOf(item).map(({ mediaType }) => mediaType)]] : [],
  );
}

/** The outputs as a client reads them, without what the server adds. */
function outputsOf(items: readonly object[]): unknown[] {
  return items.flatMap((item) => {
    if (!("type" in item && item.type === "function_call_output" && "output" in item)) return [];
    if (!Array.isArray(item.output)) return [item.output];
    return [item.output.map(({ file_id: _id, detail: _detail, ...part }: Record<string, unknown>) => part)];
  });
}

test("[O1] [I1] an output with an image continues its response, and is listed as it was given", async (t) => {
  const { openai, exchanges } = await testOutputs(t);
  const first = await openai.responses.create({ input: "go", tools });
  const input = [output("a", text("seen"), image)];
  const second = await openai.responses.create({ input, tools, previous_response_id: first.id });
  assert.equal(second.output_text, "a dot");
  assert.deepEqual(results(exchanges.at(-1)?.context), [["seen", ["image/png"]]]);
  const listed = (await openai.responses.inputItems.list(second.id)).data;
  assert.deepEqual(outputsOf(listed), [[text("seen"), image]]);
  // A later response sees it too, stored or not.
  for (const store of [true, false]) {
    await openai.responses.create({ input: "and?", previous_response_id: second.id, store });
    assert.deepEqual(results(exchanges.at(-1)?.context), [["seen", ["image/png"]]], `store ${store}`);
  }
});

test("[O5] [I1] a client that sends its whole history with images of outputs goes on in one session", async (t) => {
  const { openai, engine, admin, exchanges } = await testOutputs(t);
  const address = { type: "input_image" as const, image_url: "https://example.com/shot.png" };
  for (const part of [image, address, notes]) {
    const history: Item[] = [user(`go ${JSON.stringify(part).length}`)];
    for (const more of [[], [output("a", part)], [user("again")]]) {
      history.push(...more);
      const { output: made } = await openai.responses.create({ input: history, tools });
      history.push(...(made as Item[]));
    }
    const [{ lastSequence } = { lastSequence: 0 }] = (await engine.sessions.list(admin, { limit: 1 })).sessions;
    assert.equal(lastSequence, 3);
    const media = part === notes ? [] : ["image/png"];
    assert.deepEqual(results(exchanges.at(-1)?.context), [["", media]]);
  }
});

test("[O1] [O2] a conversation lists the images of outputs, and a reference to one stands for them", async (t) => {
  const { openai, exchanges } = await testOutputs(t);
  const { id } = await openai.conversations.create({ items: [user("one"), call("c"), output("c", text("x"), image)] });
  const listed = (await openai.conversations.items.list(id, { order: "asc" })).data;
  assert.deepEqual(outputsOf(listed), [[text("x"), image]]);
  const kept = listed.map((item) => ({ type: "item_reference" as const, id: item.id ?? "" }));
  await openai.responses.create({ input: "two", conversation: id });
  await openai.responses.create({ input: [...kept, user("two")] });
  for (const { context } of exchanges) assert.deepEqual(results(context), [["x", ["image/png"]]]);
});

test("[O1] [I1] a file of text in an output comes to the model, and a fault of an output names its part", async (t) => {
  const { openai, exchanges, wireError } = await testOutputs(t);
  const { id } = await openai.responses.create({ input: [user("one"), call("c"), output("c", notes), user("two")] });
  assert.match(JSON.stringify(exchanges[0]?.context), /buy milk/);
  const listed = JSON.stringify((await openai.responses.inputItems.list(id)).data);
  assert.match(listed, /"filename":"notes.txt"/);
  const input = [user("one"), call("c"), output("c", text("x"), { type: "input_image", file_id: "file-1" })];
  const { status, param } = await wireError("POST /v1/responses", { input });
  assert.deepEqual([status, param], [400, "input[2].output[1].file_id"]);
});

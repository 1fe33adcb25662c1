/** Images and files of items: as they are listed, sent back and referred to (I1, O1, O2). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type OpenAI from "openai";
import { testOpenAi } from "../../../testing/openai-door.ts";
import type { HistoryItem } from "../../domain/history.ts";
import { scriptedProvider } from "../../providers/scripted/scripted.ts";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const image = { type: "input_image" as const, detail: "auto" as const, image_url: `data:image/png;base64,${png}` };
const inBase64 = (text: string) => Buffer.from(text).toString("base64");
const pdf = {
  type: "input_file" as const,
  filename: "plan.pdf",
  file_data: `data:application/pdf;base64,${inBase64("%PDF-1.7 a plan")}`,
};
const notes = {
  type: "input_file" as const,
  filename: "notes.txt",
  file_data: `data:text/plain;base64,${inBase64("buy milk")}`,
};
const text = (words: string) => ({ type: "input_text" as const, text: words });
const user = (...content: OpenAI.Responses.ResponseInputContent[]) => ({
  type: "message" as const,
  role: "user" as const,
  content,
});

async function testFiles(t: TestContext) {
  const scripted = scriptedProvider();
  const provider = { ...scripted, takes: () => ["image/png", "application/pdf"] };
  return { ...(await testOpenAi(t, { provider })), exchanges: scripted.exchanges };
}

/** What a client reads, without what the server adds. */
function contentOf(items: readonly object[]): unknown[] {
  return items.map((item) => {
    const content = "content" in item ? (item.content as Record<string, unknown>[]) : [];
    return content.map(({ file_id: _id, annotations: _notes, logprobs: _logs, ...part }) => part);
  });
}

/** What the model sees, without where it is stored. */
function seen(items: readonly HistoryItem[] = []): unknown[] {
  return items.map((item) =>
    item.type === "user"
      ? { parts: item.parts, media: (item.media ?? []).map(({ blob: _blob, ...ref }) => ref) }
      : item,
  );
}

test("[O1] [I1] a conversation lists the images and files that its client gave, and nothing else", async (t) => {
  const { openai, exchanges } = await testFiles(t);
  const given = [
    user(text("one"), image),
    { type: "message" as const, role: "assistant" as const, content: "An image." },
    user(text("two"), pdf, notes),
  ];
  const { id } = await openai.conversations.create();
  const added = await openai.conversations.items.create(id, { items: given });
  const expected = [[text("one"), image], [{ type: "output_text", text: "An image." }], [text("two"), pdf, notes]];
  assert.deepEqual(contentOf(added.data), expected);
  const listed = await openai.conversations.items.list(id, { order: "asc" });
  assert.deepEqual(contentOf(listed.data), expected);
  const last = await openai.conversations.items.retrieve(listed.data[2]?.id ?? "", { conversation_id: id });
  assert.deepEqual(contentOf([last]), [[text("two"), pdf, notes]]);
  // A client that reads the items and sends them again gives the model the same.
  const copy = await openai.conversations.create({ items: listed.data as OpenAI.Responses.ResponseInputItem[] });
  for (const conversation of [id, copy.id]) await openai.responses.create({ input: "three", conversation });
  assert.deepEqual(seen(exchanges[1]?.context), seen(exchanges[0]?.context));
  assert.match(JSON.stringify(exchanges[1]?.context), /buy milk/);
});

test("[O2] [T8] a message that is removed takes its files with it", async (t) => {
  const { openai, exchanges } = await testFiles(t);
  const { id } = await openai.conversations.create({ items: [user(text("one")), user(text("two"), image, notes)] });
  const [newest] = (await openai.conversations.items.list(id, { limit: 1 })).data;
  await openai.conversations.items.delete(newest?.id ?? "", { conversation_id: id });
  assert.deepEqual(contentOf((await openai.conversations.items.list(id)).data), [[text("one")]]);
  await openai.responses.create({ input: "three", conversation: id });
  const context = JSON.stringify(exchanges[0]?.context);
  assert.doesNotMatch(context, /INPUT|buy milk|media/);
  assert.match(context, /one/);
});

test("[O1] [I1] the files of a response's input are listed with every message, each in its form", async (t) => {
  const { openai } = await testFiles(t);
  const answered = { type: "message" as const, role: "assistant" as const, content: "An image." };
  const { id } = await openai.responses.create({ input: [user(text("one"), image), answered, user(pdf, notes)] });
  const { data } = await openai.responses.inputItems.list(id, { order: "asc" });
  assert.deepEqual(contentOf(data), [[text("one"), image], [{ type: "output_text", text: "An image." }], [pdf, notes]]);
  const { id: onlyText } = await openai.responses.create({ input: [user(notes)] });
  assert.deepEqual(contentOf((await openai.responses.inputItems.list(onlyText)).data), [[notes]]);
});

test("[O1] [I1] a reference to a message stands for its images and files too", async (t) => {
  const { openai, exchanges } = await testFiles(t);
  const { id } = await openai.conversations.create({ items: [user(text("one"), image, notes)] });
  const first = await openai.responses.create({ input: [user(text("one"), image, notes)] });
  const [kept] = (await openai.conversations.items.list(id)).data;
  const [given] = (await openai.responses.inputItems.list(first.id)).data;
  for (const item of [kept, given]) {
    await openai.responses.create({ input: [{ type: "item_reference", id: item?.id ?? "" }] });
  }
  for (const { context } of exchanges.slice(1)) assert.deepEqual(seen(context), seen(exchanges[0]?.context));
  assert.match(JSON.stringify(exchanges[2]?.context), /image\/png.*|buy milk/);
});

test("[O2] [T8] the files of a message stand before the call that waits", async (t) => {
  const { openai, exchanges } = await testFiles(t);
  const call = { type: "function_call" as const, call_id: "c", name: "f", arguments: "{}" };
  const { id } = await openai.conversations.create({ items: [user(text("one"), notes), call] });
  const output = { type: "function_call_output" as const, call_id: "c", output: "done" };
  await openai.responses.create({ input: [output], conversation: id });
  const types = exchanges[0]?.context.map((item) => item.type);
  assert.deepEqual(types, ["user", "user", "tool_call", "tool_result"]);
});

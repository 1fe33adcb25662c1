/** Files that OpenAI's clients attach and that are too long to be sent whole (M8), driven by the official SDK. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { testOpenAi } from "../../../testing/openai-door.ts";

const filler = "Quarterly revenue developed as the board had forecast, and dividends were paid.\n\n".repeat(13_000);
const long = `${filler}The flamingo census counted 4711 birds.\n\n${filler}`;
const fileData = `data:text/plain;base64,${Buffer.from(long).toString("base64")}`;

test("[M8] [O1] a response answers from a 2 MB input_file, and its model may read on without the client's help", async (t) => {
  const { openai, provider } = await testOpenAi(t, {
    script: (_call, n) => (n === 1 ? [{ calls: "read_input", with: { name: "a.txt" }, callId: "call_1" }] : "4711"),
  });
  const response = await openai.responses.create({
    model: "scripted-1",
    input: [
      {
        role: "user",
        content: [
          { type: "input_file", filename: "a.txt", file_data: fileData },
          { type: "input_text", text: "How many birds did the flamingo census count?" },
        ],
      },
    ],
  });
  assert.equal(response.output_text, "4711");
  const [first, second] = provider.exchanges.map(({ call }) => JSON.stringify(call.items));
  assert.ok(first?.includes("counted 4711 birds") && first.length < 50_000);
  assert.ok(second?.includes("continue with offset"));
  assert.deepEqual(
    response.output.filter(({ type }) => type === "function_call"),
    [],
    "the client has nothing to answer",
  );
  const next = await openai.responses.create({
    model: "scripted-1",
    previous_response_id: response.id,
    input: "And what does the flamingo census say, once more?",
  });
  assert.equal(next.status, "completed");
});

test("[M8] [O5] a client that sends the file with every request continues one session, and it is split and sent once", async (t) => {
  const { openai, engine, admin, provider, deps } = await testOpenAi(t, { script: (_call, n) => `answer ${n}` });
  const file = { type: "file" as const, file: { filename: "a.txt", file_data: fileData } };
  const messages: ChatCompletionMessageParam[] = [
    { role: "user", content: [file, { type: "text", text: "How many birds did the flamingo census count?" }] },
  ];
  for (const question of ["Which census was it?", "Who counted the flamingo?"]) {
    const { choices } = await openai.chat.completions.create({ model: "scripted-1", messages });
    messages.push(
      { role: "assistant", content: choices[0]?.message.content ?? "" },
      { role: "user", content: question },
    );
  }
  await openai.chat.completions.create({ model: "scripted-1", messages });
  const { sessions } = await engine.sessions.list(admin, {});
  assert.equal(sessions.length, 1);
  assert.equal((await engine.turns.list(admin, sessions[0]?.id ?? "", {})).length, 3);
  const parts = (await deps.blobs.list("turns/")).filter((key) => key.includes("/part-"));
  assert.equal(parts.length, 1);
  const last = JSON.stringify(provider.exchanges.at(-1)?.context);
  assert.equal(last.split("counted 4711 birds").length, 2, "the chunk is in the history once");
});

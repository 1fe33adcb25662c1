/** Images of tool results, in the form that each wire has for them (I1, T8). The strict rules of the fakes take each body. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkConversation } from "../../testing/fake-anthropic/conversation-rules.ts";
import { checkFields } from "../../testing/fake-anthropic/request-rules.ts";
import { checkChatBody } from "../../testing/fake-compatible/request-rules.ts";
import { checkGenerateBody } from "../../testing/fake-google/request-rules.ts";
import { callsTo, userInstruction } from "../../testing/provider-exchange.ts";
import type { HistoryItem } from "../domain/history.ts";
import { anthropicProvider } from "./anthropic/anthropic.ts";
import { compatibleProvider } from "./compatible/compatible.ts";
import { googleProvider } from "./google/google.ts";
import type { Provider } from "./provider.ts";

const key = { apiKey: "sk-test-0123456789" };
const png = Buffer.from("89504e470d0a1a0a00", "hex").toString("base64");
const shot = { name: "shot.png", mediaType: "image/png", bytes: 9, sha256: "0".repeat(64), blob: "b" };

const called: HistoryItem[] = [
  userInstruction("Where?"),
  { type: "tool_call", callId: "one", name: "look", arguments: "{}" },
  { type: "tool_call", callId: "two", name: "look", arguments: "{}" },
];
const results = (isError?: true): HistoryItem[] => [
  { type: "tool_result", callId: "one", output: "", media: [shot], ...(isError && { isError }) },
  { type: "tool_result", callId: "two", output: "there" },
];
const tools = [{ name: "look", parameters: { type: "object" } }];

function bodyOf(provider: Provider, items: HistoryItem[]): object {
  const call = callsTo(provider.defaultModel)(items, { tools, media: new Map([["b", png]]) });
  return JSON.parse(provider.prepare(call).body) as object;
}

test("[I1] [T8] a model of Gemini before version 3 gets the image behind all responses to its calls", () => {
  const bodies = ["gemini-2.5-flash", "gemini-3-flash"].map((model) => {
    const body = bodyOf(googleProvider({ ...key, model }), [...called, ...results()]);
    checkGenerateBody(body, model);
    return body;
  });
  const image = { inlineData: { mimeType: "image/png", data: png } };
  const one = { id: "one", name: "look", response: { output: "" } };
  const two = { functionResponse: { id: "two", name: "look", response: { output: "there" } } };
  const [old, now] = bodies.map((body) => (body as { contents: { parts: object[] }[] }).contents.at(-1)?.parts);
  assert.deepEqual(old, [{ functionResponse: one }, two, image]);
  assert.deepEqual(now, [{ functionResponse: { ...one, parts: [image] } }, two]);
});

test("[I1] [T8] a compatible server gets the images in one message behind all results of an answer", () => {
  const provider = compatibleProvider({ name: "local", baseUrl: "http://localhost:1/v1", model: "m" });
  for (const next of [[], [userInstruction("And?")]]) {
    const body = bodyOf(provider, [...called, ...results(), ...next]);
    checkChatBody(body);
    const { messages } = body as { messages: { role: string; content: unknown }[] };
    assert.deepEqual(
      messages.slice(-3).map(({ role }) => role),
      ["tool", "tool", "user"],
    );
    const text = [
      "[shot.png came with the result of one]",
      ...next.flatMap((item) => ("parts" in item ? item.parts : [])),
    ];
    assert.deepEqual(messages.at(-1)?.content, [
      { type: "text", text: text.join("\n\n") },
      { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
    ]);
  }
});

test("[I1] [T8] Anthropic gets the image of a failed call as a result, because its errors are texts", () => {
  const body = bodyOf(anthropicProvider({ ...key, model: "claude-sonnet-5" }), [...called, ...results(true)]);
  checkFields(body);
  checkConversation(body);
  const { messages } = body as { messages: { content: object[] }[] };
  const source = { type: "base64", media_type: "image/png", data: png };
  assert.deepEqual(messages.at(-1)?.content, [
    { type: "tool_result", tool_use_id: "one", content: [{ type: "image", source }] },
    { type: "tool_result", tool_use_id: "two", content: "there" },
  ]);
});

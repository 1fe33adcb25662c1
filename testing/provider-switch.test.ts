/** A session that moves from one provider to another and back, on the real wires of both. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryItem } from "../src/domain/history.ts";
import { anthropicProvider } from "../src/providers/anthropic/anthropic.ts";
import { openaiProvider } from "../src/providers/openai/openai.ts";
import type { ModelCall, Provider } from "../src/providers/provider.ts";
import { startFakeAnthropic } from "./fake-anthropic/fake-anthropic.ts";
import { startFakeOpenai } from "./fake-openai/fake-openai.ts";

const tools = [{ name: "look", parameters: { type: "object" } }];

function callOf(items: HistoryItem[], model: string): ModelCall {
  const choice = { tools, toolChoice: null, allowedTools: null, previousResponseId: null, store: false };
  return { model, prompt: "be brief", items, settings: { temperature: 0.2, reasoningEffort: "low" }, ...choice };
}

/** Sends the history. Returns it with the answer's items, and the number of items that the provider had to leave out. */
async function goneOn(provider: Provider, items: HistoryItem[]): Promise<{ items: HistoryItem[]; dropped: number }> {
  const request = provider.prepare(callOf(items, provider.defaultModel));
  const events = await Array.fromAsync(provider.send(request, new AbortController().signal));
  assert.equal(events.at(-1)?.type, "finished", JSON.stringify(events.at(-1)));
  const added = events.flatMap((event) => (event.type === "item" ? [event.item] : []));
  return { items: [...items, ...added], dropped: request.dropped[0]?.count ?? 0 };
}

const user = (text: string): HistoryItem => ({ type: "user", parts: [text] });

/** Adds the results of the open calls, and then a new instruction. */
function answered(items: HistoryItem[], instruction: string): HistoryItem[] {
  const calls = items
    .slice(items.findLastIndex(({ type }) => type === "user"))
    .filter(({ type }) => type === "tool_call");
  const results = calls.map((call): HistoryItem => {
    assert.ok(call.type === "tool_call");
    return { type: "tool_result", callId: call.callId, output: `result of ${call.arguments}` };
  });
  return [...items, ...results, user(instruction)];
}

test("[C5] text, calls and results move from OpenAI to Anthropic and back, thinking stays with its provider", async (context) => {
  const [openaiFake, anthropicFake] = await Promise.all([startFakeOpenai(), startFakeAnthropic()]);
  context.after(() => Promise.all([openaiFake.close(), anthropicFake.close()]));
  const openai = openaiProvider({ apiKey: "sk-1", baseUrl: openaiFake.url, model: "gpt-5.1" });
  const anthropic = anthropicProvider({ apiKey: "sk-2", baseUrl: anthropicFake.url, model: "claude-opus-5-5" });

  openaiFake.next({
    output: [
      { type: "reasoning", summary: ["openai thinks"] },
      { type: "message", text: "let me look" },
      { type: "function_call", name: "look", arguments: '{"at":"openai"}' },
      { type: "function_call", name: "look", arguments: "half {" },
    ],
  });
  anthropicFake.next({
    output: [
      { type: "thinking", text: "claude thinks" },
      { type: "tool_use", name: "look", input: '{"at": "claude"}' },
    ],
  });
  const first = await goneOn(openai, [user("where?")]);
  const second = await goneOn(anthropic, answered(first.items, "and there?"));
  assert.equal(second.dropped, 1);
  const third = await goneOn(openai, answered(second.items, "back?"));
  assert.equal(third.dropped, 1);
  const fourth = await goneOn(anthropic, answered(third.items, "again?"));
  assert.equal(fourth.dropped, 1);

  const seen = anthropicFake.requests.at(-1)?.seen;
  assert.deepEqual(seen?.dropped, [], "its own thinking still fits");
  const model = JSON.stringify(seen?.blocks);
  const texts = ["where?", "let me look", "openai", "half {", "result of half", "claude thinks", "claude", "again?"];
  for (const text of texts) assert.ok(model.includes(text), text);
  assert.ok(!model.includes("openai thinks"));
});

/** One exchange with a driver on the real wire: the call, what the driver sends back, and the scenes of its suite. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ErrorCode } from "../src/domain/errors.ts";
import type { HistoryItem } from "../src/domain/history.ts";
import { eventOrderFault } from "../src/providers/event-order.ts";
import type { ModelCall, Provider, ProviderEvent, ProviderFailed } from "../src/providers/provider.ts";
import type { ProviderScene } from "../src/providers/provider.suite.ts";
import { type FakeRaw, garbage, type StreamPlan } from "./fake-server/deliver.ts";

/** A tool with one text parameter. */
export const lookTool = { name: "look", parameters: { type: "object", properties: { at: { type: "string" } } } };

/** Makes a call with this history. The fields replace those of the model's usual call. */
export type MakeCall = (items: HistoryItem[], more?: Partial<ModelCall>) => ModelCall;

/** Returns a maker of calls to this model. They have no tools and are not stored, unless the fields differ. */
export function callsTo(model: string, usual: Partial<ModelCall> = {}): MakeCall {
  const choice = { tools: [], toolChoice: null, allowedTools: null };
  const call = { model, prompt: "be brief", previousResponseId: null, store: false, settings: {}, ...choice, ...usual };
  return (items, more = {}) => ({ ...call, items, ...more });
}

/** Returns a user message with an instruction, in the envelope that the engine puts around it. */
export function userInstruction(text: string): HistoryItem {
  return { type: "user", parts: [`[MODE: ask]\n\n[INSTRUCTION]\n${text}`] };
}

/** Sends the call. Returns all events of the answer, whose order was checked. */
export async function eventsOf(
  provider: Provider,
  call: ModelCall,
  signal = new AbortController().signal,
): Promise<ProviderEvent[]> {
  const events = await Array.fromAsync(provider.send(provider.prepare(call), signal));
  assert.equal(eventOrderFault(events), null);
  return events;
}

export function itemsOf(events: readonly ProviderEvent[]): HistoryItem[] {
  return events.flatMap((event) => (event.type === "item" ? [event.item] : []));
}

/** Returns all bytes of the answer's body, as a text. */
export function receivedText(events: readonly ProviderEvent[]): string {
  return Buffer.concat(events.flatMap((event) => (event.type === "bytes" ? [event.bytes] : []))).toString();
}

/** Returns the last event, which must be a failure with this code. Its message must not show the key. */
export function failureIn(events: readonly ProviderEvent[], code: ErrorCode, apiKey: string): ProviderFailed {
  const last = events.at(-1);
  assert.ok(last?.type === "failed" && last.failure.code === code, JSON.stringify(last));
  assert.ok(!last.failure.message.includes(apiKey));
  return last;
}

/** How a fake plays the scenes in which it answers something other than its echo. */
export interface SceneOutputs<Output> {
  /** A text of several words. */
  text: Output;
  /** A call of the tool `lookup`. */
  toolCall: Output;
  /** The number of events after which the answer stops in the scenes `held` and `cut`. */
  eventsBeforeStop: number;
}

interface SceneFake<Output> {
  answer(script: () => ({ output: Output[] } & StreamPlan) | FakeRaw): void;
  close(): Promise<void>;
}

/** Makes the fake behave as the scene demands. The fake is closed after the test. */
export function playScene<Output, Played extends SceneFake<Output>>(
  fake: Played,
  { scene, context }: { scene: Exclude<ProviderScene, "unreachable">; context: TestContext },
  { text, toolCall, eventsBeforeStop: afterEvents }: SceneOutputs<Output>,
): Played {
  const held = Promise.withResolvers<void>();
  context.after(async () => {
    held.resolve();
    await fake.close();
  });
  switch (scene) {
    case "text":
      break;
    case "tool_call":
      fake.answer(() => ({ output: [toolCall] }));
      break;
    case "held":
      fake.answer(() => ({ output: [text], hold: { afterEvents, until: held.promise } }));
      break;
    case "cut":
      fake.answer(() => ({ output: [text], cut: { afterEvents, how: "end" } }));
      break;
    case "garbage":
      fake.answer(() => garbage());
      break;
  }
  return fake;
}

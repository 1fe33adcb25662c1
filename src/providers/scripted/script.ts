/** What a scripted model can be told to do, and its doing as events. */
import { setTimeout as sleep } from "node:timers/promises";
import { type ErrorCode, failure } from "../../domain/errors.ts";
import type { StopReason } from "../../domain/events.ts";
import type { AssistantItem, HistoryItem, ReasoningItem } from "../../domain/history.ts";
import type { Usage } from "../../domain/usage.ts";
import { itemEvents, splitWords } from "../local-wire.ts";
import type { ModelCall, ProviderEvent } from "../provider.ts";
import { failedEvent } from "../terminal-event.ts";

/** One thing that the model does. They are done in order. */
export type ScriptedPart =
  /** A message: a text comes word by word, a list as it is, and a promise in it is waited for. `everyMs`: before each piece; 0, if absent. */
  | { says: string | readonly (string | Promise<unknown>)[]; phase?: string; everyMs?: number }
  | { thinks: string; opaque?: unknown }
  /** A text of arguments goes as it is, anything else as JSON. */
  | { calls: string; with?: unknown; callId?: string }
  /** Nothing comes until the promise resolves. */
  | { waits: Promise<unknown> }
  | { fails: ErrorCode; message?: string; retryAfterMs?: number }
  /** The answer breaks off here, without a last event. */
  | { cuts: true }
  /** How the answer ends, in place of `stop` or `tool_calls`; or what it cost, in place of an estimate. */
  | { stops: StopReason; usage?: Usage };

/** A text is the short form of an answer with one message. */
export type ScriptedAnswer = string | readonly ScriptedPart[];

/** Makes the answer to the n-th call, from 1; or the very events. */
export type Script = (call: ModelCall, n: number) => ScriptedAnswer | AsyncIterable<ProviderEvent>;

export interface ScriptedSpeaker {
  /** The provider's name and the model, as they are kept with reasoning. */
  name: string;
  model: string;
  /** Part of every id that is made. */
  tag: string;
  /** Where the whole items are put. */
  output: HistoryItem[];
}

export interface ScriptedEnd {
  stopReason: StopReason;
  usage: Usage | null;
}

/** Plays the parts. Gives how the answer ended, or null where it failed or broke off. */
export async function* playScript(
  answer: ScriptedAnswer,
  speaker: ScriptedSpeaker,
): AsyncGenerator<ProviderEvent, ScriptedEnd | null, undefined> {
  const parts: readonly ScriptedPart[] = typeof answer === "string" ? [{ says: answer }] : answer;
  for (const [index, part] of parts.entries()) {
    const id = `${speaker.tag}_${index + 1}`;
    if ("cuts" in part) return null;
    if ("stops" in part) return { stopReason: part.stops, usage: part.usage ?? null };
    if ("fails" in part) {
      yield failedEvent(failure(part.fails, part.message ?? "the script says so"), {
        retryAfterMs: part.retryAfterMs ?? null,
      });
      return null;
    }
    if ("waits" in part) await part.waits;
    else yield* speak(part, id, speaker);
  }
  const hasCalls = speaker.output.some((item) => item.type === "tool_call");
  return { stopReason: hasCalls ? "tool_calls" : "stop", usage: null };
}

type SpokenPart = Extract<ScriptedPart, { says: unknown } | { thinks: string } | { calls: string }>;

async function* speak(
  part: SpokenPart,
  id: string,
  { name, model, output }: ScriptedSpeaker,
): AsyncGenerator<ProviderEvent, void, undefined> {
  if ("says" in part) return yield* say(part, `msg_${id}`, output);
  if ("thinks" in part) {
    const item: ReasoningItem = { type: "reasoning", provider: name, model, text: part.thinks, opaque: part.opaque };
    output.push(item);
    return yield* itemEvents(`rs_${id}`, item);
  }
  const callId = part.callId ?? `call_${id}`;
  const written = typeof part.with === "string" ? part.with : JSON.stringify(part.with ?? {});
  const item = { type: "tool_call" as const, callId, name: part.calls, arguments: written };
  output.push(item);
  yield* itemEvents(callId, item);
}

async function* say(
  { says, phase, everyMs = 0 }: Extract<ScriptedPart, { says: unknown }>,
  itemId: string,
  output: HistoryItem[],
): AsyncGenerator<ProviderEvent, void, undefined> {
  const item: AssistantItem = { type: "assistant", text: "", ...(phase !== undefined && { phase }) };
  for (const piece of typeof says === "string" ? splitWords(says) : says) {
    if (everyMs > 0) await sleep(everyMs);
    if (typeof piece !== "string") await piece;
    else if (piece !== "") {
      item.text += piece;
      yield { type: "text_delta", itemId, delta: piece };
    }
  }
  output.push(item);
  yield { type: "item", itemId, item };
}

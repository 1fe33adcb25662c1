/** The actions of a scripted model, and the events that they give. */
import { setTimeout as sleep } from "node:timers/promises";
import { type ErrorCode, failure } from "../../domain/errors.ts";
import type { StopReason } from "../../domain/events.ts";
import type { AssistantItem, HistoryItem, ReasoningItem } from "../../domain/history.ts";
import type { Usage } from "../../domain/usage.ts";
import { itemEvents, splitWords } from "../local-wire.ts";
import type { ModelCall, ProviderEvent } from "../provider.ts";
import { failedEvent } from "../terminal-event.ts";

/** One action of the model. Actions are performed in order. */
export type ScriptedPart =
  /**
   * Sends a message. A text is sent word by word, a list piece by piece, and a promise in the list is awaited. `everyMs`
   * is the pause before each piece in milliseconds; 0 by default.
   */
  | { says: string | readonly (string | Promise<unknown>)[]; phase?: string; everyMs?: number }
  | { thinks: string; opaque?: unknown }
  /** Calls a tool. Arguments that are a text are sent as they are, all others as JSON. */
  | { calls: string; with?: unknown; callId?: string }
  /** Sends nothing until the promise resolves. */
  | { waits: Promise<unknown> }
  | { fails: ErrorCode; message?: string; retryAfterMs?: number }
  /** Breaks the answer off, without a last event. */
  | { cuts: true }
  /** Ends the answer with this reason in place of `stop` or `tool_calls`, and with this usage in place of an estimate. */
  | { stops: StopReason; usage?: Usage };

/** The actions of one answer. A text is the short form of one message. */
export type ScriptedAnswer = string | readonly ScriptedPart[];

/** Makes the answer to the n-th call, counted from 1. It may also give the events themselves. */
export type Script = (call: ModelCall, n: number) => ScriptedAnswer | AsyncIterable<ProviderEvent>;

export interface ScriptedSpeaker {
  /** The provider's name and the model, as they are kept with reasoning. */
  name: string;
  model: string;
  /** A part of every generated id. */
  tag: string;
  /** The whole items of the answer are added to this list. */
  output: HistoryItem[];
}

export interface ScriptedEnd {
  stopReason: StopReason;
  usage: Usage | null;
}

/** Performs the actions. Returns how the answer ended, or null if it failed or broke off. */
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
      yield failedEvent(failure(part.fails, part.message ?? "the script fails here"), {
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

/**
 * The built-in offline model (L3). It is deterministic, needs no key and no network, and states in every answer what it
 * is. It quotes what retrieval found, and calls tools and proposes file bundles for simple instructions, so that
 * everything can be tried without a provider.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { sha256 } from "../../domain/ids.ts";
import type { AssistantItem, ToolCallItem } from "../../domain/history.ts";
import { itemEvents, prepareLocalCall, readLocalCall, sendLocally } from "../local-wire.ts";
import type { PreparedRequest, Provider, ProviderEvent } from "../provider.ts";
import { estimateUsage } from "../usage-estimate.ts";
import { offlineAnswer } from "./answer.ts";

export interface OfflineOptions {
  /** The pause before each word in milliseconds, for demonstrations; 0 by default. */
  tokenDelayMs?: number;
}

const name = "offline";
/** More than its longest answer, which quotes a few chunks. */
const outputTokensMax = 20_000;

export function offlineProvider({ tokenDelayMs = 0 }: OfflineOptions = {}): Provider {
  return {
    name,
    account: "built-in",
    defaultModel: "offline-1",
    remembers: false,
    isFree: true,
    // Its answers are short, whatever the limit is.
    prepare: (call) => ({ ...prepareLocalCall(call, name), outputTokensMax }),
    send: (request, signal) => sendLocally(paced(request, tokenDelayMs, signal), signal),
  };
}

async function* paced(
  request: PreparedRequest,
  delayMs: number,
  signal: AbortSignal,
): AsyncGenerator<ProviderEvent, void, undefined> {
  for (const event of speak(request)) {
    if (delayMs > 0 && event.type.endsWith("_delta")) await sleep(delayMs, undefined, { signal });
    yield event;
  }
}

function* speak(request: PreparedRequest): Generator<ProviderEvent, void, undefined> {
  const call = readLocalCall(request.body);
  // The body contains the whole history, so no two requests of a session make the same ids.
  const tag = sha256(request.body).slice(0, 16);
  const answer = offlineAnswer(call);
  const items: (AssistantItem | ToolCallItem)[] =
    "text" in answer
      ? [{ type: "assistant", text: answer.text }]
      : answer.calls.map((wanted, index) => ({ type: "tool_call", callId: `call_${tag}_${index + 1}`, ...wanted }));
  yield { type: "started", responseId: null };
  for (const item of items) yield* itemEvents(item.type === "tool_call" ? item.callId : `msg_${tag}`, item);
  const stopReason = "text" in answer ? "stop" : "tool_calls";
  const usage = estimateUsage(request.body, items);
  yield { type: "finished", stopReason, usage, responseId: null, model: call.model };
}

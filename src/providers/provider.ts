/**
 * The contract for providers, which answer as the model. A driver translates our history to its wire
 * and its stream to our events; it keeps no state of a session, decides no retry and runs no tool.
 *
 * What a driver must do:
 * - `prepare` is pure: the same call gives the same bytes. It builds the whole request before anything is
 *   sent, so that the engine can store it first (E7). Secrets are not part of it: they are sent as headers (E8).
 *   History items are sent as they are, in order. Items that this provider cannot take (another provider's opaque
 *   reasoning) are left out and counted in `dropped` (C5).
 *   Settings that the model cannot take are named in `adjusted` (G3).
 * - `send` sends exactly those bytes once. It never throws or rejects: every failure is one `failed` event.
 *   The last event is `finished` or `failed`; a stream that ends without the provider's own terminal event
 *   is a failure, never an answer (C7). After `signal` aborts it ends soon, with `failed` code `interrupted`. The engine waits
 *   for `providerEndMs`, and then goes on without the driver (T11).
 * - Every byte of the response body is given in `bytes` events, before the events that were read from it
 *   (D3). This holds for failed calls too. Only a key in the body of an error is replaced, and the event says so (E8).
 * - `item` events carry whole items, in the order of the response; deltas come before their item.
 */
import type { ModelSettings } from "../domain/context.ts";
import type { Failure } from "../domain/errors.ts";
import type { StopReason } from "../domain/events.ts";
import type { HistoryItem } from "../domain/history.ts";
import type { ToolDefinition } from "../domain/tool.ts";
import type { Usage } from "../domain/usage.ts";

export interface Provider {
  /** The key under which it is configured, for example `openai`. */
  readonly name: string;
  /** A hash, without secrets, of the account that it calls with: a chain is valid only within one account (C2). */
  readonly account: string;
  readonly defaultModel: string;
  /** True if it remembers responses, so that a later call can name one instead of sending the history (C1). */
  readonly remembers: boolean;
  /** True if its one model, the default one, is in this process: its calls cost nothing (F11), and it answers for no other model. Absent: the price is that of the table. */
  readonly isFree?: true;
  /** Returns the media types that a model takes in the context, beside text (I1). If it is absent, there are none. */
  takes?(model: string): readonly string[];
  /** True if a message of the history can have the weight of the system message. Absent: only the prompt has it. */
  readonly ranks?: true;
  /** Returns the context window of a model in tokens, if the configuration of the provider names it (C6). */
  contextTokens?(model: string): number | null;
  /**
   * Returns the models that the account may call for conversations, in the provider's order (G3). It sends one request. Rejects with
   * an AptoveError without secrets if there is no list. If it is absent, the provider has none.
   */
  models?(signal: AbortSignal): Promise<ListedModel[]>;
  prepare(call: ModelCall): PreparedRequest;
  send(request: PreparedRequest, signal: AbortSignal): AsyncIterable<ProviderEvent>;
}

/** A model in the list of a provider. */
export interface ListedModel {
  id: string;
  /** The size of the window as the list states it. Null: it does not. */
  contextTokens: number | null;
}

export interface ModelCall {
  model: string;
  /** The system message; null on later calls of a chain (E1). */
  prompt: string | null;
  /**
   * The whole history in a replay, only the new items in a chain. The new items are the last ones. All media is of types
   * that `takes` returns.
   */
  items: readonly HistoryItem[];
  /** The content of the items' media in base64, by their blobs. Absent if the items have no media. */
  media?: ReadonlyMap<string, string>;
  previousResponseId: string | null;
  /** True if the provider must remember the response. */
  store: boolean;
  tools: readonly ToolDefinition[];
  /** The name of the tool that the model must call (E4). Null if the model chooses. */
  toolChoice: string | null;
  /** True if the model must call one of the tools that it may call, whichever it is. Absent: it may answer instead. */
  mustCall?: true;
  /**
   * The names of the tools that may be called; null if all may (E5). The list in `tools` stays the same. A wire that
   * cannot express this sends nothing of it, unless no tool is allowed: the engine refuses calls of the other tools.
   */
  allowedTools: readonly string[] | null;
  settings: ModelSettings;
}

export interface PreparedRequest {
  model: string;
  /** The exact body. */
  body: string;
  dropped: { kind: "reasoning"; count: number }[];
  /**
   * The settings that this model cannot take, one text each: they were left out, or replaced by the nearest that it
   * takes (G3). Absent: none.
   */
  adjusted?: readonly string[];
  /** The limit of the output that the body states, in tokens. Absent: it states none (F11). */
  outputTokensMax?: number;
}

export type ProviderEvent =
  | { type: "bytes"; bytes: Uint8Array; isMasked?: true }
  | { type: "started"; responseId: string | null }
  | { type: "text_delta"; itemId: string; delta: string }
  | { type: "reasoning_delta"; itemId: string; delta: string }
  | { type: "tool_call_started"; callId: string; name: string }
  | { type: "tool_call_delta"; callId: string; delta: string }
  /** A whole item. `itemId` is that of its deltas; for a tool call it is the call id. */
  | { type: "item"; itemId: string; item: HistoryItem }
  | ProviderFinished
  | ProviderFailed;

export interface ProviderFinished {
  type: "finished";
  stopReason: StopReason;
  usage: Usage;
  /** True if the provider reported no usage and the driver estimated it from the lengths of the texts. */
  isUsageEstimated?: true;
  responseId: string | null;
  model: string;
}

export interface ProviderFailed {
  type: "failed";
  /**
   * `retryable` in the failure is the driver's decision whether the same request may succeed later (C7). It is true for
   * rate limits and the provider's own faults, and false for an exhausted quota and a bad or refused request.
   * Code `chain_forgotten`: the provider no longer knows `previousResponseId` (C3).
   */
  failure: Failure;
  /** The model's context window in tokens, if the provider's error names it (C6). */
  contextTokens?: number;
  /** The wait in milliseconds that the provider requests, for example in `retry-after`; null if it requests none. See `believedWait`. */
  retryAfterMs: number | null;
  usage: Usage;
}

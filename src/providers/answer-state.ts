/** The state that an answer has on every wire: its model, its usage, its items, and how it ended. */
import type { Failure } from "../domain/errors.ts";
import type { StopReason } from "../domain/events.ts";
import type { HistoryItem } from "../domain/history.ts";
import { isCounted, unknownUsage, type Usage } from "../domain/usage.ts";
import { CallIds } from "./call-ids.ts";
import type { PreparedRequest, ProviderEvent } from "./provider.ts";
import { failedEvent, type TerminalEvent } from "./terminal-event.ts";
import { estimateUsage } from "./usage-estimate.ts";

type AnswerEnd = { stopReason: StopReason } | { failure: Failure };

export class AnswerState {
  /** The ids of the answer's tool calls. */
  readonly callIds: CallIds;
  /** The model that answers: the requested one, until the wire names it more exactly. */
  model: string;
  /** The id by which a later call can continue this answer; null if it cannot. */
  responseId: string | null = null;
  /** True if the usage is that of the whole answer, and not only of its beginning. */
  isUsageFinal = false;
  /** The name of the provider, for messages. */
  readonly provider: string;
  readonly #request: PreparedRequest;
  readonly #items: HistoryItem[] = [];
  #usage: Usage | null = null;
  #end: AnswerEnd | null = null;

  constructor(provider: string, request: PreparedRequest) {
    this.provider = provider;
    this.#request = request;
    this.model = request.model;
    this.callIds = new CallIds(request.body);
  }

  /** The usage; null until the wire reports it. A whole answer without it gets an estimate. */
  get usage(): Usage | null {
    return this.#usage;
  }

  /** Counts that no answer can have are like none: a store could not take them, and the turn would never end (T11). */
  set usage(reported: Usage | null) {
    this.#usage = reported !== null && isCounted(reported) ? reported : null;
  }

  get hasEnded(): boolean {
    return this.#end !== null;
  }

  get hasFailed(): boolean {
    return this.#end !== null && "failure" in this.#end;
  }

  /** The last event of the answer; null until the answer has ended. Its usage may still be completed after the end. */
  get terminal(): TerminalEvent | null {
    const end = this.#end;
    if (end === null) return null;
    const { usage, responseId, model } = this;
    if ("failure" in end) return failedEvent(end.failure, { usage: this.usageOfFailure });
    return {
      type: "finished",
      stopReason: end.stopReason,
      usage: usage ?? estimateUsage(this.#request.body, this.#items),
      ...(usage === null && { isUsageEstimated: true }),
      responseId,
      model,
    };
  }

  /** Keeps the usage of the whole answer. Null if the wire did not report it. */
  reportUsage(usage: Usage | null): void {
    this.usage = usage;
    this.isUsageFinal = this.usage !== null;
  }

  /** The usage if the answer fails now. What was not reported is unknown, because the answer is not whole. */
  get usageOfFailure(): Usage {
    if (this.usage === null) return unknownUsage;
    return this.isUsageFinal ? this.usage : { ...this.usage, isPartial: true };
  }

  /** Checks whether a whole item of this type was given. */
  has(type: HistoryItem["type"]): boolean {
    return this.#items.some((item) => item.type === type);
  }

  /** Records a whole item and returns its event. */
  give(itemId: string, item: HistoryItem): ProviderEvent {
    this.#items.push(item);
    return { type: "item", itemId, item };
  }

  /**
   * Records a whole reasoning item and returns its event. `opaque` is what its provider needs to read it again. The
   * requested model is kept with it, because it decides who may read it later (C5).
   */
  giveReasoning(itemId: string, text: string, opaque?: unknown): ProviderEvent {
    const own = { type: "reasoning" as const, provider: this.provider, model: this.#request.model, text };
    return this.give(itemId, { ...own, ...(opaque !== undefined && { opaque }) });
  }

  /** Ends the answer, unless it has failed already. */
  finish(stopReason: StopReason): void {
    if (!this.hasFailed) this.#end = { stopReason };
  }

  /** Ends the answer as a failure. Returns no events, so that a reader can return the result of the call. */
  fail(reason: Failure): ProviderEvent[] {
    this.#end = { failure: reason };
    return [];
  }
}

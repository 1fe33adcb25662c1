/** Sends a running turn to the client, as fast as the client takes it and no faster (R5). */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { isTerminal, type RunFailed, type RunFinished, type SequencedEvent } from "../../../domain/events.ts";
import type { TurnUpdates } from "./turn-updates.ts";

export interface FeedTarget {
  updates: TurnUpdates;
  send(update: SessionUpdate): Promise<void>;
  /** Before the first update of the turn, with the turn that it goes on from. */
  onStart(parentTurnId: string | null): Promise<void>;
}

export class TurnFeed {
  readonly turnId: string;
  readonly #shown = new Map<string, PromiseWithResolvers<void>>();
  #isOver = false;

  constructor(turnId: string) {
    this.turnId = turnId;
  }

  /** Resolves once the client was shown what the call is about; at the latest at the end of the turn. */
  async shown(callId: string): Promise<void> {
    if (!this.#isOver) await this.#mark(callId).promise;
  }

  /** Gives the terminal event; null: whoever the events were read for is gone. */
  async send(events: AsyncIterable<SequencedEvent>, to: FeedTarget): Promise<RunFinished | RunFailed | null> {
    const { updates, send } = to;
    try {
      for await (const { event } of events) {
        if (event.type === "run_started") await to.onStart(event.parentTurnId);
        for (const update of updates.of(event)) await send(update);
        if (event.type === "tool_call_view") this.#mark(event.callId).resolve();
        if (isTerminal(event)) return event;
      }
      return null;
    } finally {
      this.#isOver = true;
      for (const mark of this.#shown.values()) mark.resolve();
    }
  }

  #mark(callId: string): PromiseWithResolvers<void> {
    const known = this.#shown.get(callId) ?? Promise.withResolvers<void>();
    this.#shown.set(callId, known);
    return known;
  }
}

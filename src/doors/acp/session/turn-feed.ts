/** Sends a running turn to the client, no faster than the client reads it (R5). */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import {
  isTerminal,
  type RunFailed,
  type RunFinished,
  type SequencedEvent,
  type TurnEvent,
} from "../../../domain/events.ts";
import { limits } from "../../../domain/limits.ts";
import { joined, joinedAtOnce } from "./joined-events.ts";
import type { TurnQuestions } from "./turn-questions.ts";
import type { TurnUpdates } from "./turn-updates.ts";

/** The terminal event of a followed turn. */
export type FollowedEnd = RunFinished | RunFailed;

export interface FeedTarget {
  updates: TurnUpdates;
  questions: TurnQuestions;
  send(update: SessionUpdate): Promise<void>;
  /** Called before the first update of the turn, with the id of the turn that it continues from. */
  onStart(parentTurnId: string | null): Promise<void>;
  /** Called for each event, before its updates are sent. */
  onEvent(event: TurnEvent): void;
  /** What had happened before the client began to follow: the position of the last event, and whether it is shown. */
  past: { seq: number; isShown: boolean };
}

export class TurnFeed {
  readonly turnId: string;
  readonly #shown = new Map<string, PromiseWithResolvers<void>>();
  readonly #present = Promise.withResolvers<void>();
  #isOver = false;
  #flushing: NodeJS.Timeout | null = null;

  constructor(turnId: string) {
    this.turnId = turnId;
  }

  /** Resolves when the client has received the details of the call, or when the turn has ended. */
  async shown(callId: string): Promise<void> {
    if (!this.#isOver) await this.#mark(callId).promise;
  }

  /** Resolves when the client has received what had happened before it began to follow. */
  get present(): Promise<void> {
    return this.#present.promise;
  }

  /** Sends the events. Returns the terminal event, or null if the client has left. */
  async send(events: AsyncIterable<SequencedEvent>, to: FeedTarget): Promise<FollowedEnd | null> {
    const { past } = to;
    try {
      if (past.seq === 0) this.#arrive(to);
      const shown = joinedAtOnce(past.seq === 0 ? events : joined(events, past.seq), past.seq);
      for await (const sequenced of shown) {
        to.onEvent(sequenced.event);
        await this.#sendOne(sequenced, to);
        if (sequenced.seq === past.seq) this.#arrive(to);
        if (isTerminal(sequenced.event)) return sequenced.event;
      }
      return null;
    } finally {
      this.#isOver = true;
      if (this.#flushing !== null) clearTimeout(this.#flushing);
      to.questions.end();
      for (const mark of [...this.#shown.values(), this.#present]) mark.resolve();
    }
  }

  async #sendOne({ seq, event }: SequencedEvent, { updates, questions, past, ...to }: FeedTarget): Promise<void> {
    if (event.type === "run_started") await to.onStart(event.parentTurnId);
    const isShown = seq > past.seq || past.isShown;
    for (const update of updates.of(event)) if (isShown) await to.send(update);
    if (event.type === "tool_output_delta" && isShown) this.#flushSoon(updates, to.send);
    if (event.type === "tool_call_view") this.#mark(event.callId).resolve();
    questions.seen(event, (callId) => updates.rawInput(callId));
  }

  /** Sends output that is held back after a moment, because a command may write a line and then nothing for a long time. */
  #flushSoon(updates: TurnUpdates, send: FeedTarget["send"]): void {
    this.#flushing ??= setTimeout(() => {
      this.#flushing = null;
      // If an update cannot be sent, the next event of the turn fails in the same way.
      for (const update of updates.heldOutput()) send(update).catch(() => undefined);
    }, limits.acpOutputMs);
  }

  #arrive({ questions }: FeedTarget): void {
    this.#present.resolve();
    questions.begin();
  }

  #mark(callId: string): PromiseWithResolvers<void> {
    const known = this.#shown.get(callId) ?? Promise.withResolvers<void>();
    this.#shown.set(callId, known);
    return known;
  }
}

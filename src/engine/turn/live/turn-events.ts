/**
 * The events of a turn, from any position, while it runs and ever after (V2). `eventsOf` is how to subscribe: a turn that
 * runs is shown as far as it is and then followed, and a finished one is read back from what is kept of it. A subscriber
 * notices nothing of the change from one to the other.
 */
import { AptoveError } from "../../../domain/errors.ts";
import { isTerminal, type SequencedEvent } from "../../../domain/events.ts";
import type { FinishedTurn, Turn } from "../../../domain/turn.ts";
import { keptEvents } from "../kept/kept-events.ts";
import type { EngineCore } from "./engine-core.ts";
import { feedOf } from "./event-feed.ts";
import { storedEnd } from "./stored-end.ts";

export interface EventsFrom {
  /** The last event that the subscriber has; 0 for all events. */
  afterSeq: number;
  /** The subscription ends quietly when it aborts. */
  signal: AbortSignal | undefined;
}

/**
 * Subscribes to a turn behind position `afterSeq`: gives each later event once, in order and numbered without a gap, and
 * ends after the terminal event. The subscription begins with the first event that is pulled.
 *
 * Pull-based: a slow subscriber delays only itself (R5). A turn that runs in another process is followed until this process
 * ends (R4): then the subscription ends without a terminal event, and is resumed at another server from its last event.
 *
 * Throws `not_found`; and where this process cannot tell how the turn ends, `runner_lost` because it lost the turn (R1), or
 * the reason why the end could not be written (T11). A subscriber that resumes from its last event, here or at another
 * server, gets the rest of what is kept, and nothing else (V2).
 */
export async function* eventsOf(core: EngineCore, turnId: string, from: EventsFrom): AsyncGenerator<SequencedEvent> {
  const { afterSeq, signal = new AbortController().signal } = from;
  const feed = feedOf(core, { turnId, afterSeq, signal });
  let seq = afterSeq;
  try {
    while (!signal.aborted) {
      const { events, next } = await feed.read(seq);
      for (const sequenced of events) {
        yield sequenced;
        seq = sequenced.seq;
        if (isTerminal(sequenced.event)) return;
      }
      if (next === "end" || (next === "wait" && !(await feed.wait(seq)))) return;
    }
  } finally {
    feed.close();
  }
}

/** T11: refuses a subscriber that has all there is of a turn whose end could not be stored: a stream would only break once more. */
export async function checkEndIsKnown(core: EngineCore, turnId: string, seq: number): Promise<void> {
  if (!core.unsettled.has(turnId) || core.live.get(turnId) !== undefined) return;
  const rest = await core.deps.log.read(turnId, seq);
  if (rest === null || rest.length === 0) {
    await storedEnd(core, turnId, { seq, hasLiveEvents: false, runsHere: false });
  }
}

/** V2: refuses a position that the turn has not reached; a client that names it has the events of another turn. */
export async function checkPosition(core: EngineCore, turn: Turn, seq: number): Promise<void> {
  if (seq === 0) return;
  const live = turn.status === "pending" ? await core.deps.log.read(turn.id, seq - 1) : null;
  if (live?.[0]?.seq === seq) return;
  // It may have finished in between: then its events are in its blob.
  const now = live === null ? await core.deps.records.turns.get(turn.id) : turn;
  const kept = now === null || now.status === "pending" ? [] : await keptEvents(core.deps, now);
  if (Number.isInteger(seq) && seq > 0 && seq <= kept.length) return;
  throw new AptoveError("event_id_unknown", `turn ${turn.id} has no event ${seq}`);
}

export function shuttingDown(): AptoveError {
  return new AptoveError(
    "shutting_down",
    "send the request again; another server, or this one when it is back, takes it",
    {
      facts: { retryAfterSeconds: 1 },
    },
  );
}

/** Waits until a turn is finished, wherever it runs. */
export async function finishOf(core: EngineCore, turnId: string): Promise<FinishedTurn> {
  const seen = await core.deps.records.turns.get(turnId);
  if (seen?.status === "pending")
    for await (const _event of eventsOf(core, turnId, { afterSeq: 0, signal: undefined }));
  const turn = await core.deps.records.turns.get(turnId);
  if (turn?.status === "pending" && core.isShuttingDown) throw shuttingDown();
  if (turn === null || turn.status === "pending" || turn.status === "archived") {
    throw new AptoveError("turn_not_finished", `turn ${turnId} did not finish`);
  }
  return turn;
}

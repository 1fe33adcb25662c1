/**
 * The events of a turn, from any position, during the turn and at any later time (V2). `eventsOf` subscribes to them:
 * the events of a running turn are sent up to now and then followed, and those of a finished turn are read from the
 * store. A subscriber does not notice the change from one to the other.
 */
import { AptoveError } from "../../../domain/errors.ts";
import { isTerminal, type SequencedEvent } from "../../../domain/events.ts";
import { beforeArchiving, type FinishedTurn, type Turn } from "../../../domain/turn.ts";
import { onAbort } from "../../../system/abort.ts";
import type { WatchedRight } from "../../access/access-watch.ts";
import type { EngineCore } from "./engine-core.ts";
import { feedOf, type FeedPart } from "./event-feed.ts";
import { runOf, storedEnd } from "./stored-end.ts";

export interface EventsFrom {
  /** The position of the last event that the subscriber has. 0 for all events. */
  afterSeq: number;
  /** Ends the subscription without an error when it aborts. */
  signal: AbortSignal | undefined;
  /** The right to see the session, which ends the subscription in the same way. Absent: the subscriber cannot lose it (H4). */
  right?: WatchedRight | undefined;
  /** `now`: the subscription ends after the events that there are, also if the turn runs. Absent: it ends with the turn. */
  until?: "now" | undefined;
}

/**
 * Subscribes to a turn after position `afterSeq`. Yields each later event once, in order and numbered without a gap,
 * and ends after the terminal event. The subscription begins when the first event is pulled.
 *
 * It is pull-based: a slow subscriber delays only itself (R5). A turn that runs in another process is followed until
 * this process stops (R4). Then the subscription ends without a terminal event, and the client resumes it at another
 * server from its last event.
 *
 * Throws `not_found`. If this process cannot know how the turn ends, it throws `runner_lost` because it lost the turn
 * (R1), or the reason why the end could not be written (T11). A subscriber that resumes from its last event, here or at
 * another server, receives exactly the rest of the stored events (V2).
 */
export async function* eventsOf(core: EngineCore, turnId: string, from: EventsFrom): AsyncGenerator<SequencedEvent> {
  const { afterSeq, until } = from;
  // The signal is asked at each event. One of `AbortSignal.any` would look up its sources each time.
  const over = new AbortController();
  const { signal } = over;
  const end = (): void => over.abort();
  const unwatch = from.right?.(end);
  const unfollow = from.signal === undefined ? undefined : onAbort(from.signal, end);
  const feed = feedOf(core, { turnId, afterSeq, signal });
  let seq = afterSeq;
  try {
    let part: FeedPart | null = signal.aborted ? null : await feed.read(seq);
    while (part !== null && !signal.aborted) {
      for (const sequenced of part.events) {
        if (signal.aborted) return;
        yield sequenced;
        seq = sequenced.seq;
        if (isTerminal(sequenced.event)) return;
      }
      if (part.next === "end" || (part.next === "wait" && until === "now")) return;
      part = part.next === "wait" ? await feed.readNext(seq) : await feed.read(seq);
    }
  } finally {
    feed.close();
    unwatch?.();
    unfollow?.();
  }
}

/**
 * Refuses a subscriber that already has all events of a turn whose end could not be stored: its stream would only break
 * again (T11).
 */
export async function checkEndIsKnown(core: EngineCore, turnId: string, seq: number): Promise<void> {
  if (!core.unsettled.has(turnId) || core.live.get(turnId) !== undefined) return;
  const rest = await core.deps.log.read(turnId, seq);
  if (rest === null || rest.length === 0) {
    await storedEnd(core, turnId, { seq, hasLiveEvents: false, runsHere: false });
  }
}

/**
 * Throws `event_id_unknown` for a position that the turn has not reached. A client that names it has the events of
 * another turn (V2).
 */
export async function checkPosition(core: EngineCore, turn: Turn, seq: number): Promise<void> {
  if (seq === 0) return;
  const live = turn.status === "pending" ? await core.deps.log.read(turn.id, seq - 1) : null;
  if (live?.[0]?.seq === seq) return;
  // The turn may have finished meanwhile. Then its events are in its blob.
  const now = live === null ? await core.deps.records.turns.get(turn.id) : turn;
  // Events that a client received live may be lost with the process that ran the turn. The client continues from the last one.
  const last = now === null || now.status === "pending" ? null : (await runOf(core, now)).length;
  if (last !== null && Number.isInteger(seq) && seq > 0 && seq <= last) return;
  const next = last === null ? "" : `; continue from event ${last}`;
  throw new AptoveError("event_id_unknown", `turn ${turn.id} has no event ${seq}${next}`, {
    facts: { turnId: turn.id, ...(last !== null && { lastEventId: `${turn.id}:${last}` }) },
  });
}

export function shuttingDown(): AptoveError {
  return new AptoveError(
    "shutting_down",
    "send the request again; another server accepts it, or this one after its restart",
    {
      facts: { retryAfterSeconds: 1 },
    },
  );
}

/**
 * Waits until a turn is finished, in whichever process it runs, and returns it. A process that stops waits only for the
 * turns that run in it (R4).
 */
export async function finishOf(core: EngineCore, turnId: string): Promise<FinishedTurn> {
  let turn = await core.deps.records.turns.get(turnId);
  while (turn?.status === "pending" && (!core.closing.signal.aborted || core.live.get(turnId) !== undefined)) {
    await followToEnd(core, turnId);
    turn = await core.deps.records.turns.get(turnId);
  }
  if (turn?.status === "pending" && core.closing.signal.aborted) throw shuttingDown();
  if (turn?.status === "archived") return beforeArchiving(turn);
  if (turn === null || turn.status === "pending") {
    throw new AptoveError("turn_not_finished", `turn ${turnId} did not finish`);
  }
  return turn;
}

/** Resolves when the turn has ended, or when this process has lost it and knows no more of it than any other (R1). */
async function followToEnd(core: EngineCore, turnId: string): Promise<void> {
  try {
    for await (const _event of eventsOf(core, turnId, { afterSeq: 0, signal: undefined }));
  } catch (error) {
    const live = core.live.get(turnId);
    if (!(error instanceof AptoveError) || error.code !== "runner_lost") throw error;
    // From here on the turn is followed like one of another process.
    if (live !== undefined) await core.live.untilEnded(live);
  }
}

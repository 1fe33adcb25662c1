/**
 * The events of a turn, from any place, while it runs and ever after (V2). A running turn's are read from the
 * live log, a finished one's from its run blob; a reader notices nothing of the change.
 */
import { AptoveError, type Failure } from "../../../domain/errors.ts";
import { isTerminal, type SequencedEvent } from "../../../domain/events.ts";
import type { FinishedTurn, Turn } from "../../../domain/turn.ts";
import type { EngineCore } from "./engine-core.ts";
import { holdsLease } from "./leases.ts";
import type { LiveTurn } from "./live-turns.ts";
import { keptEvents, numbered, terminalOf, type StoredTurn } from "../kept/kept-events.ts";

export interface EventsFrom {
  afterSeq: number;
  signal: AbortSignal | undefined;
}

/**
 * Pull-based: a slow reader holds its own place and nothing else (R5). Ends after the terminal event. Throws where this
 * process cannot tell how it ends, because it lost the turn or could not write its end: whoever comes back, here or at
 * another server, hears the rest of what is kept, and nothing else (V2).
 */
export async function* eventsOf(core: EngineCore, turnId: string, from: EventsFrom): AsyncGenerator<SequencedEvent> {
  const signal = from.signal ?? new AbortController().signal;
  const live = core.live.get(turnId);
  if (isLost(live)) {
    // Others may have ended it by now, while the run here is still being let go.
    const end = await endOf(core, turnId, { seq: from.afterSeq, hasHeard: false, runsHere: true });
    if (end === null) throw letGo(turnId);
    yield* end;
    return;
  }
  // R4: what runs elsewhere is followed elsewhere when this process ends; whoever listens comes back there.
  const news = AbortSignal.any([signal, live === undefined ? core.closing.signal : live.over]);
  let seq = from.afterSeq;
  let isRunning = false;
  while (!signal.aborted) {
    if (live !== undefined && live.events !== null) {
      yield* numbered(live.events).slice(seq);
      return;
    }
    if (isLost(live)) throw letGo(turnId);
    // Asked before the log and the row are read: what they say then is the last word.
    const runsHere = core.live.get(turnId) !== undefined;
    const reason = live?.unwritten ?? null;
    const batch = await core.deps.log.read(turnId, seq);
    for (const sequenced of batch ?? []) {
      // What a process says that has lost the turn, perhaps while it was paused, nobody keeps.
      if (live !== undefined && !holdsLease(core, live)) throw letGo(turnId);
      yield sequenced;
      seq = sequenced.seq;
      if (isTerminal(sequenced.event)) return;
    }
    const hasNews = batch !== null && batch.length > 0;
    // Of a turn that is known to run, nobody asks for the row while there is news.
    if (hasNews && !isRunning) continue;
    if (!hasNews && reason !== null) throw unwritten(turnId, reason);
    // Of a turn that runs here, nobody but this process knows more than it; one whose end was refused is in other hands.
    if (!hasNews && live !== undefined && runsHere && !live.over.aborted && holdsLease(core, live)) isRunning = true;
    else if (!hasNews) {
      const end = await endOf(core, turnId, { seq, hasHeard: seq > from.afterSeq, runsHere });
      if (end !== null) {
        yield* end;
        return;
      }
      // It is over here, and in other hands: there is no news to wait for.
      if (live?.over.aborted === true && live.unwritten === null) throw letGo(turnId);
      isRunning = true;
    }
    if (live === undefined && core.closing.signal.aborted) return;
    await core.deps.log.wait(turnId, seq, news);
  }
}

function isLost(live: LiveTurn | undefined): boolean {
  return live?.isLost === true;
}

/** R1: others end the turn, and whoever resumes, here or at another server, hears the rest of what is kept (V2). */
function letGo(turnId: string): AptoveError {
  return new AptoveError("runner_lost", `this process has lost turn ${turnId}; follow it again from the last event`);
}

interface Heard {
  seq: number;
  /** The reader has had events from the live log, and no end. */
  hasHeard: boolean;
  /** The turn ran here when the log was read. */
  runsHere: boolean;
}

/** What is left of a turn that has ended; null: it runs. */
async function endOf(core: EngineCore, turnId: string, heard: Heard): Promise<Iterable<SequencedEvent> | null> {
  const turn = await core.deps.records.turns.get(turnId);
  if (turn === null) throw new AptoveError("not_found", `there is no turn "${turnId}"`);
  if (turn.status !== "pending") return after(heard, turn, await keptEvents(core.deps, turn));
  const reason = heard.runsHere ? undefined : core.unsettled.get(turnId);
  if (reason !== undefined) throw unwritten(turnId, reason);
  return null;
}

/** T11: the run is over and its end could not be written anywhere. The next recovery fails the turn (R2); nobody waits for that. */
function unwritten(turnId: string, { code, message }: Failure): AptoveError {
  const mend = "the turn is failed as soon as it can be; then follow it again from the last event";
  return new AptoveError(code, `the end of turn ${turnId} could not be stored: ${message}; ${mend}`);
}

/** T11: refuses who has had all that there is of a turn whose end could not be stored: a stream would only break once more. */
export async function checkEnd(core: EngineCore, turnId: string, seq: number): Promise<void> {
  if (!core.unsettled.has(turnId) || core.live.get(turnId) !== undefined) return;
  const rest = await core.deps.log.read(turnId, seq);
  if (rest === null || rest.length === 0) await endOf(core, turnId, { seq, hasHeard: false, runsHere: false });
}

/** V2: refuses a place that the turn has not reached; whoever names it has the events of another turn. */
export async function checkPlace(core: EngineCore, turn: Turn, seq: number): Promise<void> {
  if (seq === 0) return;
  const live = turn.status === "pending" ? await core.deps.log.read(turn.id, seq - 1) : null;
  if (live?.[0]?.seq === seq) return;
  // It may have finished in between: then its events are in its blob.
  const now = live === null ? await core.deps.records.turns.get(turn.id) : turn;
  const kept = now === null || now.status === "pending" ? [] : await keptEvents(core.deps, now);
  if (Number.isInteger(seq) && seq > 0 && seq <= kept.length) return;
  throw new AptoveError("event_id_unknown", `turn ${turn.id} has no event ${seq}`);
}

/**
 * Where the events could not all be kept, on a full disk, the row still tells how the turn ended (T11). A runner that
 * was taken for lost may have said more than is kept: who listened to it is told the end too (R1).
 */
function* after(
  { seq, hasHeard }: Heard,
  turn: StoredTurn,
  events: readonly SequencedEvent[],
): Generator<SequencedEvent> {
  const rest = events.filter((sequenced) => sequenced.seq > seq);
  yield* rest;
  const last = rest.at(-1) ?? (hasHeard ? undefined : events.at(-1));
  if (last === undefined || !isTerminal(last.event))
    yield { seq: Math.max(seq, last?.seq ?? 0) + 1, event: terminalOf(turn) };
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

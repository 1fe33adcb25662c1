/** The events of a turn, and of a session from turn to turn (V1, V2). */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { SequencedEvent } from "../../../domain/events.ts";
import type { Turn } from "../../../domain/turn.ts";
import type { Engine, RunningTurn } from "../../../engine/engine.ts";
import { toAgUi } from "../../../protocol/ag-ui.ts";
import type { RunIds } from "../../../protocol/ag-ui.ts";
import { formatEventId } from "../../../protocol/event-id.ts";
import type { Door, Handlers, Listener } from "./call.ts";
import { eventStream, eventStreamHeaders } from "./event-stream.ts";
import type { IdentifiedEvent } from "./event-stream.ts";
import { lastEventId, placeInTurn } from "./resume.ts";

export function streamHandlers(door: Door): Handlers<"turnEvents" | "sessionEvents"> {
  const { engine } = door;
  return {
    turnEvents: async ({ caller, id, query, ...listener }) => {
      const place = placeInTurn(listener.request, id, query.after);
      const turn = await engine.turns.get(caller, id);
      const gone = new AbortController();
      const events = identified(
        await engine.turns.events(caller, id, { afterSeq: place, signal: gone.signal }),
        runOf(turn),
      );
      if (turn.status === "pending") return eventAnswer(door, { listener, events, gone });
      return await replay(door, { listener, events, gone });
    },
    sessionEvents: async ({ caller, id, query, ...listener }) => {
      const [newest] = await engine.turns.list(caller, id, { limit: 1, kind: "agent" });
      if (newest === undefined) return nothingMore();
      const from = lastEventId(listener.request, query.after);
      const first = from === null ? newest : await engine.turns.get(caller, from.turnId);
      if (first.sessionId !== id) throw new AptoveError("event_id_unknown", "the event belongs to another session");
      const gone = new AbortController();
      const rest = identified(
        await engine.turns.events(caller, first.id, { afterSeq: from?.seq ?? 0, signal: gone.signal }),
        runOf(first),
      );
      const events = onThrough(engine, { caller, first, rest, signal: gone.signal });
      if (newest.status === "pending") return eventAnswer(door, { listener, events, gone });
      return await replay(door, { listener, events, gone });
    },
  };
}

/** The answer that streams a turn which was just started. */
export function runAnswer(door: Door, listener: Listener, running: RunningTurn): Response {
  const gone = new AbortController();
  return eventAnswer(door, { listener, events: identified(running.events(gone.signal), running), gone });
}

interface EventAnswer {
  listener: Listener;
  events: AsyncGenerator<IdentifiedEvent>;
  gone: AbortController;
}

function eventAnswer(door: Door, { listener, events, gone }: EventAnswer): Response {
  const keyEnd = new AbortController();
  const unwatch = listener.watchKey(() => keyEnd.abort());
  const listening = door.observer.stream();
  gone.signal.addEventListener("abort", () => (unwatch(), listening.end()), { once: true });
  const signal = AbortSignal.any([listener.request.signal, keyEnd.signal]);
  const onFault = (error: unknown): void => door.report("a stream of events broke", error);
  const body = eventStream({ events, gone, heartbeatMs: door.heartbeatMs, signal, onFault });
  return new Response(body, { headers: eventStreamHeaders });
}

/**
 * Of finished turns: if everything was had, the answer says that nothing will come, so that a client that
 * opens broken streams again knows when to stop.
 */
async function replay(door: Door, { listener, events, gone }: EventAnswer): Promise<Response> {
  const first = await events.next();
  if (first.done) return nothingMore();
  async function* all(): AsyncGenerator<IdentifiedEvent> {
    yield (first as IteratorYieldResult<IdentifiedEvent>).value;
    yield* events;
  }
  return eventAnswer(door, { listener, events: all(), gone });
}

function nothingMore(): Response {
  return new Response(null, { status: 204 });
}

function runOf(turn: Turn): RunIds {
  return { sessionId: turn.sessionId, turnId: turn.id };
}

async function* identified(events: AsyncIterable<SequencedEvent>, run: RunIds): AsyncGenerator<IdentifiedEvent> {
  for await (const sequenced of events) {
    yield { id: formatEventId({ turnId: run.turnId, seq: sequenced.seq }), event: toAgUi(sequenced, run) };
  }
}

interface SessionEvents {
  caller: Caller;
  first: Turn;
  /** What is left of the first turn. */
  rest: AsyncGenerator<IdentifiedEvent>;
  signal: AbortSignal;
}

/**
 * The rest of a turn, then every later one of the session's agent, as far as there are any: a subagent's turns run beside
 * these, and have streams of their own.
 */
async function* onThrough(engine: Engine, from: SessionEvents): AsyncGenerator<IdentifiedEvent> {
  const { caller, first, rest, signal } = from;
  yield* rest;
  for (let { sequence } = first; !signal.aborted;) {
    const [next] = await engine.turns.list(caller, first.sessionId, { before: sequence + 2, limit: 1 });
    if (next === undefined || next.sequence <= sequence) return;
    sequence = next.sequence;
    if (next.kind !== "agent") continue;
    yield* identified(await engine.turns.events(caller, next.id, { afterSeq: 0, signal }), runOf(next));
  }
}

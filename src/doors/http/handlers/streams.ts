/** Handlers for the events of a turn, and of all turns of a session (V1, V2). */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { SequencedEvent } from "../../../domain/events.ts";
import type { SessionNews } from "../../../domain/session-news.ts";
import type { Turn } from "../../../domain/turn.ts";
import type { Engine, RunningTurn } from "../../../engine/engine.ts";
import { toAgUi, type RunIds } from "../../../protocol/ag-ui.ts";
import { formatEventId } from "../../../protocol/event-id.ts";
import { withoutNullish } from "../../../protocol/given.ts";
import { toWireNews } from "../../../protocol/live/news.ts";
import type { HandlerDependencies, RouteHandlers, StreamListener } from "./handler.ts";
import { eventStream, eventStreamHeaders, type ServerSentEvent } from "../../event-stream.ts";
import { lastEventId, positionInTurn } from "./last-event-id.ts";

export function streamHandlers(
  door: HandlerDependencies,
): RouteHandlers<"turnEvents" | "sessionEvents" | "followNews"> {
  const { engine } = door;
  return {
    turnEvents: async ({ caller, id, query, ...listener }) => {
      const afterSeq = positionInTurn(listener.request, id, query.after);
      const turn = await engine.turns.get(caller, id);
      const gone = new AbortController();
      const from = { afterSeq, signal: gone.signal, until: query.until };
      const events = identified(await engine.turns.events(caller, id, from), runOf(turn));
      if (turn.status === "pending") return eventAnswer(door, { listener, events, gone });
      return await replay(door, { listener, events, gone });
    },
    sessionEvents: async ({ caller, id, query, ...listener }) => {
      const from = lastEventId(listener.request, query.after);
      const [newest] = await engine.turns.list(caller, id, { limit: 1, kind: "agent" });
      const first = from === null ? newest : await engine.turns.get(caller, from.turnId);
      if (first === undefined) return nothingMore();
      if (first.sessionId !== id) throw new AptoveError("event_id_unknown", "the event belongs to another session");
      if (first.kind !== "agent") throw new AptoveError("event_id_unknown", "the event belongs to a subagent's turn");
      const gone = new AbortController();
      const rest = identified(
        await engine.turns.events(caller, first.id, { afterSeq: from?.seq ?? 0, signal: gone.signal }),
        runOf(first),
      );
      const events = eventsOfLaterTurns(engine, { caller, first, rest, signal: gone.signal });
      if (newest?.status === "pending") return eventAnswer(door, { listener, events, gone });
      return await replay(door, { listener, events, gone });
    },
    followNews: async ({ caller, query, ...listener }) => {
      const free = door.listeners.take(caller);
      const gone = new AbortController();
      gone.signal.addEventListener("abort", free, { once: true });
      const from = { signal: gone.signal, ...withoutNullish(query) };
      const events = newsEvents(door, engine.sessions.changes(caller, from));
      return eventAnswer(door, { listener, events, gone });
    },
  };
}

async function* newsEvents(
  { engine: { version }, heartbeatMs }: HandlerDependencies,
  news: AsyncIterable<SessionNews>,
): AsyncGenerator<ServerSentEvent> {
  for await (const one of news) yield { data: JSON.stringify(toWireNews(one, { version, heartbeatMs })) };
}

/** Creates the response that streams a turn that has just started. */
export function runAnswer(door: HandlerDependencies, listener: StreamListener, running: RunningTurn): Response {
  const gone = new AbortController();
  return eventAnswer(door, { listener, events: identified(running.events(gone.signal), running), gone });
}

interface EventAnswer {
  listener: StreamListener;
  events: AsyncGenerator<ServerSentEvent>;
  gone: AbortController;
}

function eventAnswer(door: HandlerDependencies, { listener, events, gone }: EventAnswer): Response {
  const keyEnd = new AbortController();
  const unwatch = listener.watchKey(() => keyEnd.abort());
  const listening = door.observer.stream();
  gone.signal.addEventListener("abort", () => (unwatch(), listening.end()), { once: true });
  const signal = AbortSignal.any([listener.request.signal, keyEnd.signal]);
  const onFault = (error: unknown): void =>
    door.report("a stream of events broke; its client can open it again", error);
  const body = eventStream({ events, gone, heartbeatMs: door.heartbeatMs, signal, onFault });
  return new Response(body, { headers: eventStreamHeaders });
}

/**
 * Streams finished turns. If the client has received all events, the status is 204, so that a client that reopens broken
 * streams knows when to stop.
 */
async function replay(door: HandlerDependencies, { listener, events, gone }: EventAnswer): Promise<Response> {
  const first = await events.next();
  if (first.done) return nothingMore();
  async function* all(): AsyncGenerator<ServerSentEvent> {
    yield (first as IteratorYieldResult<ServerSentEvent>).value;
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

async function* identified(events: AsyncIterable<SequencedEvent>, run: RunIds): AsyncGenerator<ServerSentEvent> {
  for await (const sequenced of events) {
    yield {
      id: formatEventId({ turnId: run.turnId, seq: sequenced.seq }),
      data: JSON.stringify(toAgUi(sequenced, run)),
    };
  }
}

interface SessionEvents {
  caller: Caller;
  first: Turn;
  /** The remaining events of the first turn. */
  rest: AsyncGenerator<ServerSentEvent>;
  signal: AbortSignal;
}

/**
 * Yields the rest of a turn, then every later turn of the session's agent that exists. Turns of subagents run beside them and
 * have streams of their own.
 */
async function* eventsOfLaterTurns(engine: Engine, from: SessionEvents): AsyncGenerator<ServerSentEvent> {
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

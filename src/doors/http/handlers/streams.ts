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
import { eventStream, eventStreamHeaders, eventText } from "../../event-stream.ts";
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
      const events = await engine.turns.events(caller, id, { afterSeq, signal: gone.signal, until: query.until });
      const answer = { listener, events, textOf: textsOf(runOf(turn)), gone };
      return turn.status === "pending" ? eventAnswer(door, answer) : await replay(door, answer);
    },
    sessionEvents: async ({ caller, id, query, ...listener }) => {
      const from = lastEventId(listener.request, query.after);
      const [newest] = await engine.turns.list(caller, id, { limit: 1, kind: "agent" });
      const first = from === null ? newest : await engine.turns.get(caller, from.turnId);
      if (first === undefined) return nothingMore();
      if (first.sessionId !== id) throw new AptoveError("event_id_unknown", "the event belongs to another session");
      if (first.kind !== "agent") throw new AptoveError("event_id_unknown", "the event belongs to a subagent's turn");
      const gone = new AbortController();
      const rest = await engine.turns.events(caller, first.id, { afterSeq: from?.seq ?? 0, signal: gone.signal });
      const events = textsOfTurns(engine, { caller, first, rest, signal: gone.signal });
      const answer = { listener, events, textOf: (text: string) => text, gone };
      return newest?.status === "pending" ? eventAnswer(door, answer) : await replay(door, answer);
    },
    followNews: async ({ caller, query, ...listener }) => {
      const free = door.listeners.take(caller);
      const gone = new AbortController();
      gone.signal.addEventListener("abort", free, { once: true });
      const from = { signal: gone.signal, ...withoutNullish(query) };
      const { heartbeatMs } = door;
      const textOf = (news: SessionNews): string =>
        eventText({ data: JSON.stringify(toWireNews(news, { version: engine.version, heartbeatMs })) });
      return eventAnswer(door, { listener, events: engine.sessions.changes(caller, from), textOf, gone });
    },
  };
}

/** Creates the response that streams a turn that has just started. */
export function runAnswer(door: HandlerDependencies, listener: StreamListener, running: RunningTurn): Response {
  const gone = new AbortController();
  return eventAnswer(door, { listener, events: running.events(gone.signal), textOf: textsOf(running), gone });
}

interface EventAnswer<Item> {
  listener: StreamListener;
  events: AsyncIterable<Item>;
  textOf(this: void, item: Item): string;
  gone: AbortController;
}

function eventAnswer<Item>(door: HandlerDependencies, { listener, events, textOf, gone }: EventAnswer<Item>): Response {
  const keyEnd = new AbortController();
  const unwatch = listener.watchKey(() => keyEnd.abort());
  const listening = door.observer.stream();
  gone.signal.addEventListener("abort", () => (unwatch(), listening.end()), { once: true });
  const signal = AbortSignal.any([listener.request.signal, keyEnd.signal]);
  const onFault = (error: unknown): void =>
    door.report("a stream of events broke; its client can open it again", error);
  const body = eventStream({ events, textOf, gone, heartbeatMs: door.heartbeatMs, signal, onFault });
  return new Response(body, { headers: eventStreamHeaders });
}

/**
 * Streams finished turns. If the client has received all events, the status is 204, so that a client that reopens broken
 * streams knows when to stop.
 */
async function replay<Item>(door: HandlerDependencies, { events, ...answer }: EventAnswer<Item>): Promise<Response> {
  const items = events[Symbol.asyncIterator]();
  const first = await items.next();
  if (first.done === true) return nothingMore();
  return eventAnswer(door, { ...answer, events: { [Symbol.asyncIterator]: () => withFirst(first, items) } });
}

/** Gives back what was read of the items. A listener that leaves before it reads ends them too. */
function withFirst<Item>(first: IteratorResult<Item>, items: AsyncIterator<Item>): AsyncIterator<Item> {
  let unread: IteratorResult<Item> | null = first;
  return {
    next: async () => {
      const next = unread ?? (await items.next());
      unread = null;
      return next;
    },
    return: async () => (await items.return?.()) ?? { done: true, value: undefined },
  };
}

function nothingMore(): Response {
  return new Response(null, { status: 204 });
}

function runOf(turn: Turn): RunIds {
  return { sessionId: turn.sessionId, turnId: turn.id };
}

/** Returns what makes the text of an event of this run. */
function textsOf(run: RunIds): (sequenced: SequencedEvent) => string {
  return (sequenced) =>
    eventText({
      id: formatEventId({ turnId: run.turnId, seq: sequenced.seq }),
      data: JSON.stringify(toAgUi(sequenced, run)),
    });
}

interface SessionEvents {
  caller: Caller;
  first: Turn;
  /** The remaining events of the first turn. */
  rest: AsyncIterable<SequencedEvent>;
  signal: AbortSignal;
}

/**
 * Yields the texts of the rest of a turn, then those of every later turn of the session's agent that exists. Turns of subagents
 * run beside them and have streams of their own.
 */
async function* textsOfTurns(engine: Engine, from: SessionEvents): AsyncGenerator<string> {
  const { caller, first, rest, signal } = from;
  yield* texts(rest, first);
  for (let { sequence } = first; !signal.aborted;) {
    const [next] = await engine.turns.list(caller, first.sessionId, { before: sequence + 2, limit: 1 });
    if (next === undefined || next.sequence <= sequence) return;
    sequence = next.sequence;
    if (next.kind !== "agent") continue;
    yield* texts(await engine.turns.events(caller, next.id, { afterSeq: 0, signal }), next);
  }
}

async function* texts(events: AsyncIterable<SequencedEvent>, turn: Turn): AsyncGenerator<string> {
  const textOf = textsOf(runOf(turn));
  for await (const sequenced of events) yield textOf(sequenced);
}

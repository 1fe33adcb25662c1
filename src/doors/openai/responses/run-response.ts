/** Runs the turn of a response, and follows its events in OpenAI's form (O1, O2). */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { isTerminal, type SequencedEvent } from "../../../domain/events.ts";
import type { Turn } from "../../../domain/turn.ts";
import type { AskedOfTurn, EndedTurn, Engine, RunningTurn, TurnRequest } from "../../../engine/engine.ts";
import type { DoorCall, OpenAiParts } from "../door-call.ts";
import { noPrevious, noSuch } from "../wire-error.ts";
import { responseId, conversationId } from "../wire-ids.ts";
import { ResponseEvents, type WireEvent, type WireResponse } from "./response-events.ts";
import { factsOfTurn, keptEcho, responseFrame, seconds, type RequestEcho } from "./response-frame.ts";

/** The client that a turn runs for. */
export interface ResponseClient extends Pick<DoorCall, "caller" | "takeRun"> {
  /** Aborts when the client leaves. Null: the turn goes on without its client. */
  request: { readonly signal: AbortSignal } | null;
}

/**
 * Starts the turn. It holds one of the caller's slots until it has finished (H5). A client that leaves stops it, as it has no other
 * way to do so (O1), or takes its request out of the line. A turn with an idempotency key goes on: its client can send the request again.
 */
export async function startResponse(
  parts: OpenAiParts,
  client: ResponseClient,
  request: TurnRequest,
): Promise<RunningTurn> {
  const free = client.takeRun();
  const leaving = request.idempotencyKey === undefined ? client.request?.signal : undefined;
  try {
    const asked = { ...request, ...(leaving !== undefined && { withdrawn: leaving }) };
    const running = await parts.engine.turns.run(client.caller, asked);
    const unwatch = leaving === undefined ? () => undefined : stopWithClient(parts, client, running);
    const end = (): void => (free(), unwatch());
    if (running.isRepeat) end();
    else void running.finished.then(end, end);
    return running;
  } catch (error) {
    free();
    throw continuationError(error, request);
  }
}

/** Interrupts the turn when its client leaves. Returns the function that ends this. */
function stopWithClient(
  { engine, report }: OpenAiParts,
  { caller, request }: ResponseClient,
  { turnId }: RunningTurn,
): () => void {
  const stop = (): void =>
    void engine.turns
      .interrupt(caller, { turnId })
      .catch((error: unknown) => report("a response could not be stopped after its client had left", error));
  if (request?.signal.aborted === true) stop();
  request?.signal.addEventListener("abort", stop, { once: true });
  // This holds the request itself: the signal of one that is no longer in use is not aborted.
  return () => request?.signal.removeEventListener("abort", stop);
}

/** What cannot be continued because it is not there, is hidden, or is another's, gives one error (O1). */
function continuationError(thrown: unknown, { after, sessionId }: TurnRequest): unknown {
  if (!(thrown instanceof AptoveError)) return thrown;
  const { code, facts } = thrown;
  const isGone = code === "not_found" || (code === "turn_not_continuable" && facts["status"] === "archived");
  if (!isGone) return thrown;
  if (after !== undefined) return noPrevious(responseId(after.turnId));
  return sessionId === undefined ? thrown : noSuch("Conversation", conversationId(sessionId));
}

/** A turn with the events of its response. */
export interface FollowedResponse {
  turn: Turn;
  /** Returns the turn as it ended, if this process knows it. */
  ended(this: void): EndedTurn | null;
  echo: RequestEcho;
  events: ResponseEvents;
}

/** Returns the response of a turn that this door has just started, of which it knows the request. */
export function followRunning({ turn, ended }: RunningTurn, request: TurnRequest): FollowedResponse {
  const { instructions = null, tools = [], clientData = {} } = request;
  return followedResponse({ turn, ended }, { instructions, tools, clientData });
}

/** Returns the response of a stored turn. */
export async function followStored(engine: Engine, caller: Caller, turn: Turn): Promise<FollowedResponse> {
  return followedResponse({ turn, ended: () => null }, await (await engine.turns.read(caller, turn.id)).asked());
}

function followedResponse(
  { turn, ended }: Pick<FollowedResponse, "turn" | "ended">,
  asked: Pick<AskedOfTurn, "instructions" | "tools" | "clientData">,
): FollowedResponse {
  const echo = keptEcho(asked);
  const allowed = allowedNames(echo);
  const names = new Set(asked.tools.map(({ name }) => name).filter((name) => allowed?.includes(name) ?? true));
  const frame = responseFrame(factsOfTurn(turn, asked));
  return {
    turn,
    ended,
    echo,
    events: new ResponseEvents({ frame, turnId: turn.id, isClients: (name) => names.has(name) }),
  };
}

function allowedNames({ tool_choice: choice }: RequestEcho): string[] | null {
  if (choice === "none") return [];
  return typeof choice === "object" && "tools" in choice ? choice.tools.map(({ name }) => name) : null;
}

/** Yields the events of the response. The last one of a finished turn has the whole response. */
export async function* wireEvents(
  engine: Engine,
  caller: Caller,
  { followed, source }: { followed: FollowedResponse; source: AsyncIterable<SequencedEvent> },
): AsyncGenerator<WireEvent> {
  for await (const { event } of source) {
    const endedAt = isTerminal(event) ? await endOf(engine, caller, followed) : 0;
    yield* followed.events.push(event, () => endedAt);
  }
}

async function endOf(engine: Engine, caller: Caller, { turn, ended: endedHere }: FollowedResponse): Promise<number> {
  const ended = turn.status === "pending" ? (endedHere()?.turn ?? (await engine.turns.get(caller, turn.id))) : turn;
  return seconds(ended.status === "pending" ? ended.createdAt : (ended.answeredAt ?? ended.statusAt));
}

/** Returns the events of a finished turn's response. */
export async function storedResponse(engine: Engine, caller: Caller, turn: Turn): Promise<AsyncGenerator<WireEvent>> {
  const stored = await followStored(engine, caller, turn);
  const source = await engine.turns.events(caller, turn.id, { afterSeq: 0 });
  return wireEvents(engine, caller, { followed: stored, source });
}

/** Returns the response at the end of its events. */
export async function lastResponse(events: AsyncIterable<WireEvent>): Promise<WireResponse> {
  let last: WireEvent | null = null;
  for await (const event of events) last = event;
  if (last !== null && "response" in last) return last["response"] as WireResponse;
  throw new AptoveError("turn_not_finished", "the end of the response is not known; retrieve it later");
}

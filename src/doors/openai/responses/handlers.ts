/** `/v1/responses`: create and read (O1, O2). */
import type { Caller } from "../../../domain/caller.ts";
import type { RunningTurn } from "../../../engine/engine.ts";
import { isHidden, type Turn } from "../../../domain/turn.ts";
import { idParam, type DoorCall, type Handler, type OpenAiParts } from "../door-call.ts";
import { streamAnswer } from "../sse.ts";
import { givenItems } from "../items.ts";
import { itemPage } from "../page.ts";
import { badParameter, noSuch, turnFailure, unlessHidden } from "../wire-error.ts";
import { turnOfResponse } from "../wire-ids.ts";
import type { WireEvent, WireResponse } from "./response-events.ts";
import { followStored, lastResponse, storedResponse, wireEvents } from "./run-response.ts";
import { createResponse } from "./create-response.ts";

export function responseHandlers(parts: OpenAiParts): Record<string, Handler> {
  return {
    "POST /v1/responses": async (call) => await create(parts, call),
    "GET /v1/responses/{id}": async (call) => await retrieve(parts, call),
    "DELETE /v1/responses/{id}": async (call) => await remove(parts, call),
    "POST /v1/responses/{id}/cancel": async (call) => await cancel(parts, call),
    "GET /v1/responses/{id}/input_items": async (call) => {
      const turn = await responseTurn(parts, call.caller, idParam(call));
      return Response.json(await itemPage(await givenItems(parts.engine, call.caller, turn.id), call.query));
    },
  };
}

async function create(parts: OpenAiParts, call: DoorCall): Promise<Response> {
  const { body } = call;
  const gone = new AbortController();
  const idempotencyKey = call.request.headers.get("idempotency-key");
  const creating = { client: call, body, idempotencyKey, signal: gone.signal };
  const { asked, running, followed, events } = await createResponse(parts, creating);
  if (asked.stream === true) return streamAnswer(parts, call, { events, gone });
  if (asked.background === true) return Response.json(followed.events.response);
  return Response.json(await wholeResponse(events, running));
}

/** Waits for the end. A turn that failed is an error, as the client waits for an answer. */
async function wholeResponse(
  events: AsyncIterable<WireEvent>,
  { finished, turnId }: RunningTurn,
): Promise<WireResponse> {
  const response = await lastResponse(events);
  const turn = await finished;
  if (turn.status === "failed" && response.status === "failed") throw turnFailure(turn.failures[0], turnId);
  return response;
}

/** Returns the turn of a response. A deleted one does not exist any more (O2). */
async function responseTurn({ engine }: OpenAiParts, caller: Caller, id: string): Promise<Turn> {
  const turnId = turnOfResponse(id);
  const turn = turnId === null ? null : await engine.turns.get(caller, turnId).catch(unlessHidden);
  if (turn === null || isHidden(turn) || turn.status === "archived" || turn.kind !== "agent")
    throw noSuch("Response", id);
  return turn;
}

async function retrieve(parts: OpenAiParts, call: DoorCall): Promise<Response> {
  const { engine } = parts;
  const { caller, query } = call;
  const turn = await responseTurn(parts, caller, idParam(call));
  const followed = await followStored(engine, caller, turn);
  const isStream = query.get("stream") === "true";
  if (!isStream && turn.status === "pending") return Response.json(followed.events.response);
  const gone = new AbortController();
  const source = await engine.turns.events(caller, turn.id, { afterSeq: 0, signal: gone.signal });
  const events = wireEvents(engine, caller, { followed, source });
  if (!isStream) return Response.json(await lastResponse(events));
  return streamAnswer(parts, call, { events: after(events, startingAfter(query)), gone });
}

function startingAfter(query: URLSearchParams): number {
  const given = query.get("starting_after");
  if (given === null || given === "") return -1;
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw badParameter("starting_after", "Invalid value for 'starting_after': expected a whole number from 0.");
}

/** Leaves out the events that the client has. A position beyond the end gives nothing. */
async function* after(events: AsyncIterable<WireEvent>, position: number): AsyncGenerator<WireEvent> {
  for await (const event of events) if (event.sequence_number > position) yield event;
}

/** Deletes the id. What continues the response keeps its history (O2). */
async function remove(parts: OpenAiParts, { caller, ...call }: DoorCall): Promise<Response> {
  const id = call.params["id"] ?? "";
  const turn = await responseTurn(parts, caller, id);
  await parts.engine.tree.hideTurn(caller, turn.id);
  return Response.json({ id, object: "response", deleted: true });
}

/** Stops a response that runs in the background. One that has ended stays as it is (O1). */
async function cancel(parts: OpenAiParts, call: DoorCall): Promise<Response> {
  const { engine } = parts;
  const { caller } = call;
  const turn = await responseTurn(parts, caller, idParam(call));
  const { echo } = await followStored(engine, caller, turn);
  if (echo.background !== true) {
    throw badParameter("id", "Only responses that were created with 'background' can be cancelled.", "invalid_request");
  }
  if (turn.status === "pending") await engine.turns.interrupt(caller, { turnId: turn.id });
  return Response.json(await lastResponse(await storedResponse(engine, caller, turn)));
}

/** Starts a response, for every way in which one is created (O1). */
import type { Engine, RunningTurn, TurnRequest } from "../../../engine/engine.ts";
import type { OpenAiParts } from "../door-call.ts";
import { itemResolver } from "../items.ts";
import { parseCreate, type CreateResponse } from "../schemas/create-response.ts";
import { noPrevious, unsupported } from "../wire-error.ts";
import { withoutKnownResults } from "./known-results.ts";
import { withStoredHistory } from "./stored-history.ts";
import { UnkeptPlace } from "./unkept-place.ts";
import {
  followRunning,
  startResponse,
  wireEvents,
  type FollowedResponse,
  type ResponseClient,
} from "./run-response.ts";
import { responseRequest } from "./turn-request.ts";
import type { WireEvent } from "./response-events.ts";

export interface StartedResponse {
  asked: CreateResponse;
  running: RunningTurn;
  followed: FollowedResponse;
  events: AsyncGenerator<WireEvent>;
}

export interface Creating {
  client: ResponseClient;
  body: unknown;
  idempotencyKey: string | null;
  /** The place of responses that are not stored. Absent: this one is alone. */
  unkept?: UnkeptPlace;
  /** Ends the events when it aborts. The response itself ends with its client. */
  signal: AbortSignal;
}

export async function createResponse(parts: OpenAiParts, creating: Creating): Promise<StartedResponse> {
  const asked = parseCreate(creating.body);
  if (asked.store !== false) return await begin(parts, asked, creating);
  const isAlone = creating.unkept === undefined;
  const place = creating.unkept ?? new UnkeptPlace(parts.engine);
  try {
    const turns = await place.turns(creating.client.caller);
    if (turns === null) return await begin(parts, { ...asked, store: true }, creating);
    refuseStored(asked);
    const inMemory = { ...parts, engine: { ...parts.engine, turns } };
    const started = await begin(inMemory, asked, { ...creating, stored: parts.engine });
    if (isAlone) void started.running.finished.finally(() => place.close()).catch(() => undefined);
    return started;
  } catch (error) {
    // A continuation that failed leaves nothing to continue.
    if (typeof asked.previous_response_id === "string") place.evict(asked.previous_response_id);
    if (isAlone) place.close();
    throw error;
  }
}

/** Refuses what a response that is not stored cannot have. */
function refuseStored({ background, conversation }: CreateResponse): void {
  if (background === true) throw unsupported("background", "'background' needs a response that is stored.");
  if (conversation !== undefined && conversation !== null) {
    throw unsupported("conversation", "A conversation needs responses that are stored.");
  }
}

async function begin(
  parts: OpenAiParts,
  asked: CreateResponse,
  { client, idempotencyKey, signal, unkept, stored }: Creating & { stored?: Engine },
): Promise<StartedResponse> {
  const { engine } = parts;
  const { caller } = client;
  const previous = asked.previous_response_id;
  if (asked.store === false && typeof previous === "string" && unkept?.isEvicted(previous) === true) {
    throw noPrevious(previous);
  }
  // Items that an input refers to are stored ones.
  const resolve = itemResolver(stored ?? engine, caller);
  const given = await withoutKnownResults(engine, caller, await responseRequest({ engine, caller, resolve }, asked));
  const request: TurnRequest = {
    ...(stored === undefined ? given : await withStoredHistory({ engine: stored, turns: engine.turns, caller }, given)),
    ...(idempotencyKey !== null && { idempotencyKey }),
  };
  const listening = asked.background === true ? { ...client, request: null } : client;
  const running = await startResponse(parts, listening, request);
  const followed = followRunning(running, request);
  return { asked, running, followed, events: wireEvents(engine, caller, { followed, source: running.events(signal) }) };
}

/**
 * `POST /v1/responses/compact` and `/v1/responses/input_tokens` (O1). A compaction is a reference to a stored history with its
 * summary. It is of use to those alone who may read that history.
 */
import { z } from "zod";
import type { TurnRequest } from "../../../engine/engine.ts";
import type { DoorCall, Handler, OpenAiParts } from "../door-call.ts";
import { itemResolver } from "../items.ts";
import { parseWire } from "../schemas/parse.ts";
import { parseCreate } from "../schemas/create-response.ts";
import { turnFailure } from "../wire-error.ts";
import { itemId } from "../wire-ids.ts";
import { compactionContent } from "./compaction-item.ts";
import { seconds } from "./response-frame.ts";
import { startResponse } from "./run-response.ts";
import { continuation, responseRequest } from "./turn-request.ts";
import { responseUsage } from "./usage.ts";

const named = z.looseObject({ model: z.string() });

export function compactHandlers(parts: OpenAiParts): Record<string, Handler> {
  return {
    "POST /v1/responses/compact": async (call) => await compact(parts, call),
    "POST /v1/responses/input_tokens": async (call) => {
      const request = await requestOf(parts, call, call.body ?? {});
      const { tokens } = await parts.engine.turns.estimate(call.caller, request);
      const input_tokens = tokens.total;
      return Response.json({ object: "response.input_tokens", input_tokens });
    },
  };
}

async function requestOf({ engine }: OpenAiParts, { caller }: DoorCall, body: unknown): Promise<TurnRequest> {
  return await responseRequest({ engine, caller, resolve: itemResolver(engine, caller) }, parseCreate(body));
}

async function compact(parts: OpenAiParts, call: DoorCall): Promise<Response> {
  const body = parseWire(named, call.body);
  const turn = await summarised(parts, call, await historyToCompact(parts, call, body));
  const id = itemId("compaction", turn.id, 0);
  return Response.json({
    id,
    object: "response.compaction",
    created_at: seconds(turn.createdAt),
    output: [{ type: "compaction", id, encrypted_content: compactionContent(turn.id) }],
    usage: responseUsage(turn.run.usage),
  });
}

/** Stores the input below the response that it follows, and returns the request of the summary. */
async function historyToCompact(parts: OpenAiParts, call: DoorCall, body: object): Promise<TurnRequest> {
  const asked = parseCreate(body);
  const hasInput = asked.input !== undefined && asked.input !== null;
  if (!hasInput && typeof asked.previous_response_id === "string") {
    const after = await continuation({ engine: parts.engine, caller: call.caller }, asked);
    return { instruction: "", ...after, ...(typeof asked.model === "string" && { model: asked.model }) };
  }
  const { instruction = "", input = [], earlier = [], ...rest } = await requestOf(parts, call, body);
  const isEmpty = instruction === "" && input.length === 0;
  const last = isEmpty ? [] : [{ type: "user" as const, text: instruction, media: input }];
  const given = { ...rest, instruction: "", earlier: [...earlier, ...last], withoutModel: true };
  const { id } = await ended(parts, call, given);
  return { ...rest, instruction: "", toolResults: [], after: { turnId: id } };
}

async function summarised(parts: OpenAiParts, call: DoorCall, request: TurnRequest) {
  const once = { withoutModel: true, compact: true, isFindable: true, onlyNamedTools: true, isSettingsOnce: true };
  return await ended(parts, call, { tools: [], instructions: "", ...request, ...once });
}

async function ended(parts: OpenAiParts, call: DoorCall, request: TurnRequest) {
  const turn = await (await startResponse(parts, call, request)).finished;
  if (turn.status === "failed") throw turnFailure(turn.failures[0], turn.id);
  return turn;
}

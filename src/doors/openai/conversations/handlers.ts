/** `/v1/conversations` with items: a conversation is a session (O1, O2). */
import { z } from "zod";
import type { Session } from "../../../domain/session.ts";
import type { Turn } from "../../../domain/turn.ts";
import type { TurnRequest } from "../../../engine/engine.ts";
import { idParam, type DoorCall, type Handler, type OpenAiParts } from "../door-call.ts";
import { itemResolver } from "../items.ts";
import { itemPage } from "../page.ts";
import { conversationItems, turnInput } from "../read-input.ts";
import { seconds } from "../responses/response-frame.ts";
import { startResponse } from "../responses/run-response.ts";
import { parseItems } from "../schemas/input-items.ts";
import { parseWire } from "../schemas/parse.ts";
import { wireMetadata } from "../schemas/settings.ts";
import { aboutParameter, noItem, turnFailure } from "../wire-error.ts";
import { conversationId } from "../wire-ids.ts";
import { itemsAt, removedWith } from "./conversation-items.ts";
import { deletedKey, findConversation } from "./find-conversation.ts";

const givenItems = z.array(z.unknown()).max(20, "has more than 20 items");
const createSchema = z.object({ metadata: wireMetadata.nullish(), items: givenItems.nullish() });
const updateSchema = z.object({ metadata: wireMetadata });
const addSchema = z.object({ items: givenItems.min(1, "has no items") });

export function conversationHandlers(parts: OpenAiParts): Record<string, Handler> {
  const { engine } = parts;
  const one = "/v1/conversations/{id}";
  return {
    "POST /v1/conversations": async (call) => {
      const { metadata, items } = parseWire(createSchema, call.body ?? {});
      const session = await create(parts, call, { metadata: metadata ?? {}, items: items ?? [] });
      return Response.json(wireConversation(session));
    },
    [`GET ${one}`]: async (call) => Response.json(wireConversation(await conversation(parts, call))),
    [`POST ${one}`]: async (call) => {
      const { id } = await conversation(parts, call);
      const { metadata } = parseWire(updateSchema, call.body);
      return Response.json(wireConversation(await engine.sessions.update(call.caller, id, { metadata })));
    },
    [`DELETE ${one}`]: async (call) => {
      const { id, metadata } = await conversation(parts, call);
      await engine.sessions.update(call.caller, id, { metadata: { ...metadata, [deletedKey]: true } });
      return Response.json({ id: conversationId(id), object: "conversation.deleted", deleted: true });
    },
    [`GET ${one}/items`]: async (call) => {
      const session = await conversation(parts, call);
      const items = await itemsAt(engine, call.caller, headOf(session));
      return Response.json(await itemPage(items, call.query));
    },
    [`POST ${one}/items`]: async (call) => {
      const session = await conversation(parts, call);
      const { items } = parseWire(addSchema, call.body);
      const { id: turnId } = await add(parts, call, { place: { sessionId: session.id }, items });
      const added = (await itemsAt(engine, call.caller, turnId)).filter((item) => item.turnId === turnId);
      const asc = new URLSearchParams({ order: "asc", limit: "100" });
      return Response.json(await itemPage(added, asc));
    },
    [`GET ${one}/items/{item}`]: async (call) => {
      const session = await conversation(parts, call);
      const id = idParam(call, "item");
      const found = (await itemsAt(engine, call.caller, headOf(session))).find((each) => each.id === id);
      if (found === undefined) throw noItem(id);
      return Response.json(await found.wire());
    },
    [`DELETE ${one}/items/{item}`]: async (call) => {
      const session = await conversation(parts, call);
      const id = idParam(call, "item");
      const hides = removedWith(await itemsAt(engine, call.caller, headOf(session)), id);
      if (hides.length === 0) throw noItem(id);
      await store(parts, call, { sessionId: session.id, instruction: "", hides });
      return Response.json(wireConversation(session));
    },
  };
}

function headOf({ headTurnId, originTurnId }: Session): string | null {
  return headTurnId ?? originTurnId;
}

async function conversation({ engine }: OpenAiParts, call: DoorCall): Promise<Session> {
  return await findConversation(engine, call.caller, idParam(call));
}

/** Metadata of other doors may have any form. A conversation's are texts. */
function wireConversation({ id, createdAt, metadata }: Session) {
  const texts = Object.entries(metadata).filter(([, value]) => typeof value === "string");
  return {
    id: conversationId(id),
    object: "conversation",
    created_at: seconds(createdAt),
    metadata: Object.fromEntries(texts),
  };
}

interface Creating {
  metadata: Record<string, string>;
  items: readonly unknown[];
}

/** Creates the session together with the turn of its first items, so that refused items leave no empty conversation behind. */
async function create(parts: OpenAiParts, call: DoorCall, { metadata, items }: Creating): Promise<Session> {
  const { sessions } = parts.engine;
  if (items.length === 0) return await sessions.create(call.caller, { metadata });
  const { sessionId } = await add(parts, call, { place: { session: { metadata } }, items });
  return await sessions.get(call.caller, sessionId);
}

interface Adding {
  /** The conversation, or the fields of a new one. */
  place: Pick<TurnRequest, "sessionId" | "session">;
  items: readonly unknown[];
}

/** Stores the items as a turn that calls no model, and returns it. */
async function add(parts: OpenAiParts, call: DoorCall, { place, items }: Adding): Promise<Turn> {
  try {
    const given = parseItems(items, "items");
    const read = turnInput(await conversationItems(given, itemResolver(parts.engine, call.caller)));
    const { instruction, input, earlier, toolResults } = read;
    // A message of the person is no instruction here: nothing is asked of a model.
    const last =
      instruction === "" && input.length === 0 ? [] : [{ type: "user" as const, text: instruction, media: input }];
    return await store(parts, call, { ...place, instruction: "", earlier: [...earlier, ...last], toolResults });
  } catch (error) {
    throw aboutParameter(error, "items");
  }
}

async function store(parts: OpenAiParts, call: DoorCall, request: TurnRequest): Promise<Turn> {
  const once: Partial<TurnRequest> = { withoutModel: true, tools: [], onlyNamedTools: true, ifBusy: "queue" };
  const running = await startResponse(parts, { ...call, request: null }, { ...request, ...once, instructions: "" });
  const turn = await running.finished;
  if (turn.status === "failed") throw turnFailure(turn.failures[0], turn.id);
  return turn;
}

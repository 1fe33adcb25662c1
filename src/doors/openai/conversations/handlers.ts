/** `/v1/conversations` with items: a conversation is a session (O1, O2). */
import { z } from "zod";
import type { Session } from "../../../domain/session.ts";
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
import { noItem, turnFailure } from "../wire-error.ts";
import { conversationId } from "../wire-ids.ts";
import { itemsAt, removedWith } from "./conversation-items.ts";
import { deletedKey, findConversation } from "./find-conversation.ts";

const givenItems = z.array(z.unknown()).max(20, "at most 20 items are allowed");
const createSchema = z.object({ metadata: wireMetadata.nullish(), items: givenItems.nullish() });
const updateSchema = z.object({ metadata: wireMetadata });
const addSchema = z.object({ items: givenItems.min(1, "at least one item is needed") });

export function conversationHandlers(parts: OpenAiParts): Record<string, Handler> {
  const { engine } = parts;
  const one = "/v1/conversations/{id}";
  return {
    "POST /v1/conversations": async (call) => {
      const { metadata, items } = parseWire(createSchema, call.body ?? {});
      const session = await engine.sessions.create(call.caller, { metadata: metadata ?? {} });
      if (items !== undefined && items !== null && items.length > 0) await add(parts, call, { session, items });
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
      const turnId = await add(parts, call, { session, items });
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

interface Adding {
  session: Session;
  items: readonly unknown[];
}

/** Stores the items as a turn that calls no model, and returns its id. */
async function add(parts: OpenAiParts, call: DoorCall, { session, items }: Adding): Promise<string> {
  const given = parseItems(items, "items");
  const read = turnInput(await conversationItems(given, itemResolver(parts.engine, call.caller)));
  const { instruction, input, earlier, toolResults } = read;
  // A message of the person is no instruction here: nothing is asked of a model.
  const last =
    instruction === "" && input.length === 0 ? [] : [{ type: "user" as const, text: instruction, media: input }];
  const request = { sessionId: session.id, instruction: "", earlier: [...earlier, ...last], toolResults };
  return await store(parts, call, request);
}

async function store(parts: OpenAiParts, call: DoorCall, request: TurnRequest): Promise<string> {
  const once: Partial<TurnRequest> = { withoutModel: true, tools: [], onlyNamedTools: true, ifBusy: "queue" };
  const running = await startResponse(parts, { ...call, request: null }, { ...request, ...once, instructions: "" });
  const turn = await running.finished;
  if (turn.status === "failed") throw turnFailure(turn.failures[0], turn.id);
  return turn.id;
}

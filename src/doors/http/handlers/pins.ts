/** Handlers for the pins of a session (M6), and for the names of its turns (U5). */
import { withoutNullish } from "../../../protocol/given.ts";
import { toWirePin } from "../../../protocol/manifest/pin.ts";
import { toWireTurnNames } from "../../../protocol/manifest/turn-name.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

export function pinHandlers({
  engine,
}: HandlerDependencies): RouteHandlers<"listPins" | "addPin" | "removePin" | "listTurnNames" | "nameTurn"> {
  const { pins, turnNames } = engine.sessions;
  return {
    listPins: async ({ caller, id }) => answer("listPins", { pins: (await pins.list(caller, id)).map(toWirePin) }),
    addPin: async ({ caller, id, body: { turnId, ...passage } }) =>
      answer("addPin", toWirePin(await pins.add(caller, id, { turnId, ...withoutNullish(passage) }))),
    removePin: async ({ caller, id, params: { pinId } }) =>
      answer("removePin", { pins: (await pins.remove(caller, id, pinId)).map(toWirePin) }),
    listTurnNames: async ({ caller, id }) => answer("listTurnNames", toWireTurnNames(await turnNames.list(caller, id))),
    nameTurn: async ({ caller, id, params: { turnId }, body: { name } }) =>
      answer("nameTurn", toWireTurnNames(await turnNames.set(caller, id, { turnId, name }))),
  };
}

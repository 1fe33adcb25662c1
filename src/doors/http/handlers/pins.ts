/** Handlers for the pins of a session (M6). */
import { withoutNullish } from "../../../protocol/given.ts";
import { toWirePin } from "../../../protocol/manifest/pin.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

export function pinHandlers({ engine }: HandlerDependencies): RouteHandlers<"listPins" | "addPin" | "removePin"> {
  const { pins } = engine.sessions;
  return {
    listPins: async ({ caller, id }) => answer("listPins", { pins: (await pins.list(caller, id)).map(toWirePin) }),
    addPin: async ({ caller, id, body: { turnId, ...passage } }) =>
      answer("addPin", toWirePin(await pins.add(caller, id, { turnId, ...withoutNullish(passage) }))),
    removePin: async ({ caller, id, params: { pinId } }) =>
      answer("removePin", { pins: (await pins.remove(caller, id, pinId)).map(toWirePin) }),
  };
}

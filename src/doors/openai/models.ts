/** `GET /v1/models`: the models of the configured providers, and the contexts, which a request can name alike (O4). */
import { AptoveError } from "../../domain/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Caller } from "../../domain/caller.ts";
import { idParam, type Handler, type OpenAiParts } from "./door-call.ts";

interface WireModel {
  id: string;
  object: "model";
  created: number;
  owned_by: string;
}

export function modelHandlers({ engine }: OpenAiParts): Record<string, Handler> {
  return {
    "GET /v1/models": async ({ caller }) => Response.json({ object: "list", data: await modelsOf(engine, caller) }),
    // A provider's model is named with slashes, which most clients do not encode.
    "GET /v1/models/{id...}": async (call) => {
      const id = idParam(call);
      const model = named(await modelsOf(engine, call.caller), id);
      if (model !== null) return Response.json(model);
      const facts = { wire: { param: "model", code: "model_not_found" } };
      throw new AptoveError("not_found", `The model '${id}' does not exist or you do not have access to it.`, {
        facts,
      });
    },
  };
}

/** Returns the model with this name. A request and its answer may name one without its provider, which must then be the only one. */
function named(models: readonly WireModel[], id: string): WireModel | null {
  const whole = models.find((each) => each.id === id);
  if (whole !== undefined) return whole;
  const [only, another] = models.filter((each) => each.id === `${each.owned_by}/${id}`);
  return another === undefined ? (only ?? null) : null;
}

async function modelsOf(engine: Engine, caller: Caller): Promise<WireModel[]> {
  const workspaceId = caller.workspaceId ?? caller.defaultWorkspaceId ?? null;
  const [models, known] = await Promise.all([
    engine.contexts.models(caller, workspaceId),
    engine.contexts.known(caller, workspaceId),
  ]);
  const wire = (id: string, owner: string): WireModel => ({ id, object: "model", created: 0, owned_by: owner });
  return [
    ...models.map(({ provider, model }) => wire(`${provider}/${model}`, provider)),
    ...known.conversationContexts.map(({ id }) => wire(`context:${id}`, "aptove")),
  ];
}

/**
 * The door for clients of OpenAI's API (O1 to O5): `/v1/responses` and what belongs to it. It parses, calls the engine and maps
 * the events. The HTTP door has authenticated the client before.
 */
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { parseJson } from "../json-body.ts";
import { conversationHandlers } from "./conversations/handlers.ts";
import { compactHandlers } from "./responses/compact.ts";
import type { DoorCall, Handler, OpenAiClient, OpenAiParts } from "./door-call.ts";
import { chatHandlers } from "./chat/handlers.ts";
import { modelHandlers } from "./models.ts";
import { openAiPlace } from "./place.ts";
import { responseHandlers } from "./responses/handlers.ts";
import { responseSockets, type SocketHandshake, type SocketLimits } from "./socket.ts";
import { badParameter, wireRefusal } from "./wire-error.ts";

/** The door in the form that the HTTP door can mount. */
export interface OpenAiDoor {
  path: "/v1/*";
  methods: readonly string[];
  bodyBytesMax: number;
  fetch(request: Request, client: OpenAiClient): Promise<Response>;
  refusal: typeof wireRefusal;
  upgrade(handshake: SocketHandshake, client: OpenAiClient): Promise<void>;
  /** Closes all WebSockets. */
  close(): void;
}

export interface OpenAiOptions extends OpenAiParts {
  bodyBytesMax?: number;
  sockets?: Partial<SocketLimits>;
}

interface Route {
  method: string;
  parts: readonly string[];
  handler: Handler;
}

export function openAiDoor(options: OpenAiOptions): OpenAiDoor {
  const { bodyBytesMax = limits.requestBodyBytesMax, sockets: bounds, ...parts } = options;
  const sockets = responseSockets(parts, { messageBytesMax: bodyBytesMax, ...bounds });
  const handlers = {
    ...responseHandlers(parts),
    ...compactHandlers(parts),
    ...conversationHandlers(parts),
    ...chatHandlers(parts),
    ...modelHandlers(parts),
  };
  const routes = Object.entries(handlers).map(([line, handler]): Route => {
    const [method = "", path = ""] = line.split(" ");
    return { method, parts: path.split("/"), handler };
  });
  return {
    ...openAiPlace,
    bodyBytesMax,
    fetch: async (request, client) => await answer(routes, request, client),
    refusal: wireRefusal,
    upgrade: (handshake, client) => sockets.upgrade(handshake, client),
    close: () => sockets.close(),
  };
}

async function answer(routes: readonly Route[], request: Request, client: OpenAiClient): Promise<Response> {
  const url = new URL(request.url);
  const method = request.method === "HEAD" ? "GET" : request.method;
  const found = routes.flatMap((route) => {
    const params = paramsOf(route, method, url.pathname.split("/"));
    return params === null ? [] : [{ route, params }];
  })[0];
  if (found === undefined) {
    throw new AptoveError("not_found", `Unknown request URL: ${request.method} ${url.pathname}.`);
  }
  const { takeRun, watchKey, caller } = client;
  const body = await bodyOf(request);
  const call: DoorCall = { caller, takeRun, watchKey, request, params: found.params, query: url.searchParams, body };
  return await found.route.handler(call);
}

/** Returns what a path has in the places of `{name}`. Null: it is another route's. A last place `{name...}` takes all that is left. */
function paramsOf({ method, parts }: Route, asked: string, path: readonly string[]): Record<string, string> | null {
  const last = parts.length - 1;
  const takesRest = parts[last]?.endsWith("...}") === true;
  if (method !== asked || path.length < parts.length || (!takesRest && path.length > parts.length)) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    const given = takesRest && index === last ? path.slice(last) : path.slice(index, index + 1);
    if (part.startsWith("{")) params[part.replaceAll(/[{.}]/g, "")] = given.map(decoded).join("/");
    else if (part !== given[0]) return null;
  }
  return params;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function bodyOf(request: Request): Promise<unknown> {
  const text = request.body === null ? "" : await request.text();
  if (text === "") return undefined;
  try {
    return parseJson(text, "the body");
  } catch (error) {
    throw error instanceof AptoveError ? badParameter(null, error.detail, "invalid_json") : error;
  }
}

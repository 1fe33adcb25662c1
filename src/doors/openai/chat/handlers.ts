/**
 * `POST /v1/chat/completions`, for clients that know nothing else (O1). Each call is a turn of the session that its messages
 * continue, and stores only what is new (O5).
 */
import type { SequencedEvent } from "../../../domain/events.ts";
import type { RunningTurn, TurnRequest } from "../../../engine/engine.ts";
import type { DoorCall, Handler, OpenAiParts } from "../door-call.ts";
import { startResponse } from "../responses/run-response.ts";
import { echoKey, seconds } from "../responses/response-frame.ts";
import { continuedByHistory, cacheKeyOf } from "../responses/continued-history.ts";
import { unkeptTurns } from "../responses/unkept-place.ts";
import { responseSettings, standing, toolDefinition } from "../responses/turn-request.ts";
import { parseChat, type CreateChat } from "../schemas/chat.ts";
import type { WireTextFormat } from "../schemas/settings.ts";
import { streamAnswer } from "../sse.ts";
import { aboutParameter, toWireError, turnFailure } from "../wire-error.ts";
import { chatId } from "../wire-ids.ts";
import { ChatEvents, chatUsage } from "./chat-events.ts";
import { readMessages, refuseUnanswered } from "./chat-messages.ts";

export function chatHandlers(parts: OpenAiParts): Record<string, Handler> {
  return { "POST /v1/chat/completions": async (call) => await complete(parts, call) };
}

async function complete(parts: OpenAiParts, call: DoorCall): Promise<Response> {
  const asked = parseChat(call.body);
  if (asked.store !== false) return await answerChat(parts, call, asked);
  // The content is only in memory, and nothing continues it: the client sends its whole history each time (O3).
  const place = await unkeptTurns(parts.engine, call.caller);
  if (place === null) return await answerChat(parts, call, { ...asked, store: true });
  const engine = { ...parts.engine, turns: place.turns };
  return await answerChat({ ...parts, engine }, call, asked).finally(() => place.forget());
}

async function answerChat(parts: OpenAiParts, call: DoorCall, asked: CreateChat): Promise<Response> {
  const { running, request } = await startChat(parts, call, asked).catch((error: unknown) => {
    throw aboutParameter(error, "messages");
  });
  const { turn } = running;
  const allowed = request.allowedTools ?? (request.tools ?? []).map(({ name }) => name);
  const names = new Set(allowed);
  const chat: RunningChat = {
    running,
    frame: { id: chatId(turn.id), created: seconds(turn.createdAt), model: turn.model, service_tier: "default" },
    events: new ChatEvents((name) => names.has(name)),
  };
  if (asked.stream !== true) return Response.json(await wholeCompletion(chat));
  const gone = new AbortController();
  const source = running.events(gone.signal);
  const usage = asked.stream_options?.include_usage === true;
  return streamAnswer(parts, call, { events: chunks(chat, { source, usage }), gone, isNamed: false });
}

async function startChat(
  parts: OpenAiParts,
  call: DoorCall,
  asked: CreateChat,
): Promise<{ running: RunningTurn; request: TurnRequest }> {
  const key = call.request.headers.get("idempotency-key");
  const request = { ...(await chatRequest(parts, call, asked)), ...(key !== null && { idempotencyKey: key }) };
  return { running: await startResponse(parts, call, request), request };
}

async function chatRequest({ engine }: OpenAiParts, { caller }: DoorCall, asked: CreateChat): Promise<TurnRequest> {
  const { instructions, items } = readMessages(asked.messages);
  refuseUnanswered(items);
  const { model, metadata } = asked;
  const echo = { chat: true, ...(metadata !== undefined && metadata !== null && { metadata }) };
  return {
    ...(await continuedByHistory({ engine, caller, cacheKey: cacheKeyOf(asked) }, items)),
    ...standing(asked.tools.map(toolDefinition), asked.tool_choice),
    instructions,
    settings: responseSettings({
      temperature: asked.temperature,
      top_p: asked.top_p,
      parallel_tool_calls: asked.parallel_tool_calls,
      prompt_cache_key: asked.prompt_cache_key,
      stop: asked.stop,
      max_output_tokens: asked.max_completion_tokens ?? asked.max_tokens,
      reasoning: { effort: asked.reasoning_effort },
      text: { verbosity: asked.verbosity, format: formatOf(asked.response_format) },
    }),
    isSettingsOnce: true,
    cannotWait: true,
    clientData: { [echoKey]: echo },
    ...(typeof model === "string" && model !== "" && { model }),
  };
}

/** Returns the form of the answer in the form of responses. */
function formatOf(format: CreateChat["response_format"]): WireTextFormat | null {
  if (format?.type !== "json_schema") return format ?? null;
  const { schema, ...named } = format.json_schema;
  return { type: "json_schema", ...named, schema: schema ?? { type: "object" } };
}

interface RunningChat {
  running: RunningTurn;
  frame: { id: string; created: number; model: string; service_tier: string };
  events: ChatEvents;
}

async function wholeCompletion({ running, frame, events }: RunningChat): Promise<object> {
  for await (const { event } of running.events()) events.push(event);
  const turn = await running.finished;
  if (turn.status === "failed") throw turnFailure(turn.failures[0], turn.id);
  const { content, calls, finish, usage } = events.answer;
  const message = {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    refusal: null,
    annotations: [],
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const choice = { index: 0, message, finish_reason: finish, logprobs: null };
  return { ...frame, object: "chat.completion", choices: [choice], usage: chatUsage(usage) };
}

interface ChunkSource {
  source: AsyncIterable<SequencedEvent>;
  /** True if the last chunk has the usage. */
  usage: boolean;
}

async function* chunks({ frame, events }: RunningChat, { source, usage }: ChunkSource): AsyncGenerator<object> {
  const chunk = (delta: object, finish: string | null = null): object => ({
    ...frame,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
    ...(usage && { usage: null }),
  });
  yield chunk({ role: "assistant", content: "", refusal: null });
  for await (const { event } of source) {
    if (event.type === "run_failed") {
      yield { error: toWireError(turnFailure(event.failure, frame.id)).error };
      return;
    }
    const delta = events.push(event);
    if (delta !== null) yield chunk(delta);
  }
  yield chunk({}, events.answer.finish);
  if (usage) yield { ...frame, object: "chat.completion.chunk", choices: [], usage: chatUsage(events.answer.usage) };
}

/**
 * A response object without its output (O1): all fields that every response has, whatever the client left out. What the request
 * named is kept with the turn as the client's data, without what the turn has anyway.
 */
import * as z from "zod";
import type { ModelSettings } from "../../../domain/context.ts";
import type { ToolDefinition } from "../../../domain/tool.ts";
import type { Turn } from "../../../domain/turn.ts";
import type { AskedOfTurn } from "../../../engine/engine.ts";
import { toolChoiceSchema, wireMetadata } from "../schemas/settings.ts";
import type { CreateResponse } from "../schemas/create-response.ts";
import { conversationId, responseId } from "../wire-ids.ts";

/** The key of the client's data that this door uses. */
export const echoKey = "openai";

/** What of a request only the client's data keeps. */
const echoSchema = z.object({
  /** True if the request named the response, or the conversation, that it continues. */
  continues: z.enum(["response", "conversation"]).optional(),
  background: z.boolean().optional(),
  metadata: wireMetadata.optional(),
  tool_choice: toolChoiceSchema.optional(),
  /** Only turns of earlier versions have it here: it is a setting of the turn. */
  summary: z.string().optional(),
  safety_identifier: z.string().optional(),
  /** False if the response is not stored. Absent: it is. */
  store: z.literal(false).optional(),
  /** The response that one which is not stored continues. It is no parent of the turn. */
  previous: z.string().optional(),
  /** True if the request was a chat completion. */
  chat: z.boolean().optional(),
});
export type RequestEcho = z.infer<typeof echoSchema>;

/** Returns what of a request must be kept beside what the turn has. */
export function echoOf(asked: CreateResponse): RequestEcho {
  const named = {
    background: asked.background === true ? true : undefined,
    store: asked.store === false ? false : undefined,
    previous: asked.store === false ? asked.previous_response_id : undefined,
    metadata: isEmpty(asked.metadata) ? undefined : asked.metadata,
    tool_choice: asked.tool_choice === "auto" ? undefined : asked.tool_choice,
    safety_identifier: asked.safety_identifier,
    continues: continuationOf(asked),
  };
  return Object.fromEntries(
    Object.entries(named).filter(([, value]) => value !== undefined && value !== null),
  ) as RequestEcho;
}

function isEmpty(metadata: CreateResponse["metadata"]): boolean {
  return metadata === undefined || metadata === null || Object.keys(metadata).length === 0;
}

function continuationOf({ conversation, previous_response_id: previous }: CreateResponse): RequestEcho["continues"] {
  if (typeof previous === "string") return "response";
  return conversation === undefined || conversation === null ? undefined : "conversation";
}

/** Returns what this door kept with a turn. Empty for a turn of another door. */
export function keptEcho({ clientData }: Pick<AskedOfTurn, "clientData">): RequestEcho {
  return echoSchema.safeParse(clientData[echoKey]).data ?? {};
}

/** The turn of a response, as far as its object names it. */
export interface FrameFacts {
  turnId: string;
  sessionId: string;
  parentId: string | null;
  createdAt: number;
  model: string;
  settings: ModelSettings;
  instructions: string | null;
  tools: readonly ToolDefinition[];
  echo: RequestEcho;
}

export function factsOfTurn(turn: Turn, asked: Pick<AskedOfTurn, "instructions" | "tools" | "clientData">): FrameFacts {
  const { instructions, tools } = asked;
  return {
    turnId: turn.id,
    sessionId: turn.sessionId,
    parentId: turn.parentId,
    createdAt: turn.createdAt,
    model: turn.model,
    settings: turn.manifest.settings,
    instructions: instructions === "" ? null : instructions,
    tools,
    echo: keptEcho(asked),
  };
}

export type ResponseFrame = ReturnType<typeof responseFrame>;

/** Returns the fields of the response that do not change while it runs. */
export function responseFrame(facts: FrameFacts) {
  const { echo, settings } = facts;
  return {
    id: responseId(facts.turnId),
    object: "response" as const,
    created_at: seconds(facts.createdAt),
    background: echo.background ?? false,
    ...(echo.continues === "conversation" && { conversation: { id: conversationId(facts.sessionId) } }),
    instructions: facts.instructions,
    max_output_tokens: settings.maxOutputTokens ?? null,
    max_tool_calls: settings.maxToolCalls ?? null,
    metadata: echo.metadata ?? {},
    model: facts.model,
    parallel_tool_calls: settings.parallelToolCalls ?? true,
    previous_response_id: previousOf(facts),
    prompt_cache_key: settings.cacheKey ?? null,
    reasoning: { effort: settings.reasoningEffort ?? null, summary: settings.reasoningSummary ?? echo.summary ?? null },
    safety_identifier: echo.safety_identifier ?? null,
    service_tier: "default",
    store: echo.store ?? true,
    ...sampling(settings),
    text: { format: wireFormat(settings), ...verbosityOf(settings) },
    tool_choice: echo.tool_choice ?? ("auto" as const),
    tools: facts.tools.map(wireTool),
    truncation: settings.compaction === false ? ("disabled" as const) : ("auto" as const),
  };
}

function previousOf({ echo, parentId }: FrameFacts): string | null {
  if (echo.previous !== undefined) return echo.previous;
  return echo.continues === "response" && parentId !== null ? responseId(parentId) : null;
}

/** The numbers in force, also where the client named none. */
function sampling({ temperature = 1, topP = 1 }: ModelSettings) {
  return { temperature, top_p: topP, presence_penalty: 0, frequency_penalty: 0, top_logprobs: 0 };
}

function wireFormat({ answerFormat }: ModelSettings) {
  if (answerFormat === undefined) return { type: "text" as const };
  if (answerFormat.type === "json") return { type: "json_object" as const };
  const { name, schema, description = null, strict = null } = answerFormat;
  return { type: "json_schema" as const, name, description, schema, strict };
}

function verbosityOf({ verbosity }: ModelSettings): { verbosity?: string } {
  return verbosity === undefined ? {} : { verbosity };
}

function wireTool({ name, description, parameters, strict }: ToolDefinition) {
  return { type: "function" as const, name, description: description ?? null, parameters, strict: strict ?? null };
}

export function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

/** Makes the engine's request for a turn from a request for a response (O2, O4). */
import type { ModelSettings } from "../../../domain/context.ts";
import type { ToolDefinition } from "../../../domain/tool.ts";
import type { Caller } from "../../../domain/caller.ts";
import type { Engine, TurnRequest } from "../../../engine/engine.ts";
import { conversationItems, refuseOpenCalls, turnInput, type ResolveItem } from "../read-input.ts";
import type { CreateResponse } from "../schemas/create-response.ts";
import { parseInput, type WireInputItem } from "../schemas/input-items.ts";
import type { WireFunction, WireTextFormat, WireToolChoice } from "../schemas/settings.ts";
import { findConversation } from "../conversations/find-conversation.ts";
import { badParameter, noPrevious } from "../wire-error.ts";
import { turnOfResponse } from "../wire-ids.ts";
import { turnOfCompaction } from "./compaction-item.ts";
import { continuedByHistory, cacheKeyOf } from "./continued-history.ts";
import { echoKey, echoOf } from "./response-frame.ts";

export async function responseRequest(parts: Resolving, asked: CreateResponse): Promise<TurnRequest> {
  const given = parseInput(asked.input);
  const tools = asked.tools.map(toolDefinition);
  const named = await continuation(parts, asked);
  const isNamed = named.after !== undefined || named.sessionId !== undefined;
  const cut = isNamed ? { rest: given } : afterCompaction(given);
  const items = await conversationItems(cut.rest, parts.resolve);
  refuseOpenCalls(items);
  const { model } = asked;
  return {
    ...(isNamed
      ? { ...turnInput(items), ...named }
      : await continuedByHistory({ ...parts, ...cut, cacheKey: cacheKeyOf(asked) }, items)),
    ...standing(tools, asked.tool_choice),
    instructions: asked.instructions ?? "",
    settings: responseSettings(asked),
    isSettingsOnce: true,
    cannotWait: true,
    clientData: { [echoKey]: echoOf(asked) },
    ...(typeof model === "string" && model !== "" && { model }),
  };
}

/** A compaction stands for all items before it. */
function afterCompaction(given: readonly WireInputItem[]): { rest: WireInputItem[]; below?: string } {
  const at = given.findLastIndex(({ type }) => type === "compaction");
  const item = given[at];
  if (item?.type !== "compaction") return { rest: [...given] };
  const below = turnOfCompaction(item.encrypted_content);
  if (below !== null) return { rest: given.slice(at + 1), below };
  const param = `input[${at}].encrypted_content`;
  throw badParameter(param, "The encrypted content could not be read: this server did not make it.");
}

/** What the input may refer to, and what stored turn it may continue. */
interface Resolving {
  engine: Engine;
  caller: Caller;
  resolve: ResolveItem;
}

/** Returns what every turn of this door has: its own tools, and no others that the context does not name (O4). */
export function standing(
  tools: ToolDefinition[],
  choice: WireToolChoice | null | undefined,
): Pick<TurnRequest, "tools" | "onlyNamedTools" | "allowedTools" | "toolChoice" | "mustCallTool"> {
  return { tools, onlyNamedTools: true, ...choiceOf(tools, choice) };
}

/** A function that declares no parameters takes none. */
export function toolDefinition({ name, description, parameters, strict }: WireFunction): ToolDefinition {
  return {
    name,
    ...(typeof description === "string" && { description }),
    parameters: { type: "object", ...(parameters ?? { properties: {} }) },
    ...(typeof strict === "boolean" && { strict }),
  };
}

function choiceOf(
  tools: readonly ToolDefinition[],
  choice: WireToolChoice | null | undefined,
): Pick<TurnRequest, "allowedTools" | "toolChoice" | "mustCallTool"> {
  if (choice === undefined || choice === null || choice === "auto") return {};
  if (choice === "none") return { allowedTools: [] };
  if (choice === "required") return required(tools.map(({ name }) => name));
  if (!("tools" in choice)) return { toolChoice: choice.name };
  const names = choice.tools.map(({ name }) => name);
  const unknown = names.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined) {
    throw badParameter("tool_choice", `Tool choice '${unknown}' not found in 'tools' parameter.`);
  }
  return { allowedTools: names, ...(choice.mode === "required" && required(names)) };
}

/** One tool is forced by its name. Of several the model must call any. */
function required(names: readonly string[]): Pick<TurnRequest, "toolChoice" | "mustCallTool"> {
  const [only, ...others] = names;
  if (only === undefined) throw badParameter("tool_choice", "Tool choice 'required' needs at least one tool.");
  return others.length === 0 ? { toolChoice: only } : { mustCallTool: true };
}

/** Returns what the request names to continue. Throws if it names two things, or what does not exist. */
export async function continuation(
  { engine, caller }: Pick<Resolving, "engine" | "caller">,
  { previous_response_id: previous, conversation }: CreateResponse,
): Promise<Pick<TurnRequest, "after" | "sessionId" | "ifBusy">> {
  const isInConversation = conversation !== undefined && conversation !== null;
  if (typeof previous === "string") {
    if (isInConversation) {
      const message = "'previous_response_id' and 'conversation' cannot be used together.";
      throw badParameter("previous_response_id", message, "mutually_exclusive_parameters");
    }
    const turnId = turnOfResponse(previous);
    if (turnId === null) throw noPrevious(previous);
    return { after: { turnId } };
  }
  if (!isInConversation) return {};
  const id = typeof conversation === "string" ? conversation : conversation.id;
  const session = await findConversation(engine, caller, id);
  return { sessionId: session.id, ifBusy: "queue" };
}

/** OpenAI has more levels of effort than the engine. The nearest one counts. */
const efforts = {
  none: "none",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
} as const;

interface AskedSettings {
  temperature?: number | null | undefined;
  top_p?: number | null | undefined;
  parallel_tool_calls?: boolean | null | undefined;
  max_tool_calls?: number | null | undefined;
  stop?: string | readonly string[] | null | undefined;
  truncation?: "auto" | "disabled" | null | undefined;
  prompt_cache_key?: string | null | undefined;
  max_output_tokens?: number | null | undefined;
  reasoning?: AskedReasoning | null | undefined;
  text?:
    | { verbosity?: ModelSettings["verbosity"] | null | undefined; format?: WireTextFormat | null | undefined }
    | null
    | undefined;
}

interface AskedReasoning {
  effort?: keyof typeof efforts | null | undefined;
  summary?: ModelSettings["reasoningSummary"] | null;
}

export function responseSettings(asked: AskedSettings): ModelSettings {
  const { temperature, top_p: topP, max_output_tokens: output, max_tool_calls: maxToolCalls, text } = asked;
  const { prompt_cache_key: cacheKey } = asked;
  const stop = [asked.stop ?? []].flat().filter((end) => end !== "");
  const { effort = null, summary = null } = asked.reasoning ?? {};
  const verbosity = text?.verbosity ?? null;
  return {
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof topP === "number" && { topP }),
    ...(typeof output === "number" && { maxOutputTokens: output }),
    ...(typeof maxToolCalls === "number" && { maxToolCalls }),
    ...(effort !== null && { reasoningEffort: efforts[effort] }),
    ...(summary !== null && { reasoningSummary: summary }),
    ...(verbosity !== null && { verbosity }),
    ...(stop.length > 0 && { stop }),
    ...(asked.parallel_tool_calls === false && { parallelToolCalls: false }),
    ...(asked.truncation === "disabled" && { compaction: false }),
    ...(typeof cacheKey === "string" && cacheKey !== "" && { cacheKey }),
    ...answerFormat(text?.format ?? null),
  };
}

function answerFormat(format: WireTextFormat | null): Pick<ModelSettings, "answerFormat"> {
  if (format === null || format.type === "text") return {};
  if (format.type === "json_object") return { answerFormat: { type: "json" } };
  const { name, schema, description, strict } = format;
  const more = {
    ...(typeof description === "string" && { description }),
    ...(typeof strict === "boolean" && { strict }),
  };
  return { answerFormat: { type: "schema", name, schema, ...more } };
}

/**
 * A model call as the body of Gemini's `streamGenerateContent`. Pure. The model's name is part of the address, not
 * of the body. The choice of tools stands behind the history, since a mode changes it and the list of tools never (E5, K3).
 */
import type {
  Content,
  FunctionCallingConfig,
  FunctionCallingConfigMode,
  FunctionDeclaration,
  FunctionResponse,
  GenerationConfig,
  Part,
  ThinkingConfig,
  ThinkingLevel,
} from "@google/genai";
import type { ModelSettings } from "../../domain/context.ts";
import type { HistoryItem, ReasoningItem, ToolCallItem, ToolResultItem } from "../../domain/history.ts";
import { modelFamily } from "../../domain/models.ts";
import type { ToolDefinition } from "../../domain/tool.ts";
import { argumentsObject } from "../call-arguments.ts";
import { mediaOf } from "../call-media.ts";
import { isMadeUpCallId } from "../call-ids.ts";
import type { ModelCall } from "../provider.ts";
import { noSignature, type OwnReasoning, ownReasoning, wantsSignatures } from "./thought-signatures.ts";

/** The package's enums are code, which is not loaded; on the wire they are their names. */
type CallingConfig = Omit<FunctionCallingConfig, "mode"> & { mode: `${FunctionCallingConfigMode}` };
type Thinking = Omit<ThinkingConfig, "thinkingLevel"> & { thinkingLevel?: `${ThinkingLevel}` };

/** The package's types know the parts of this body, not the body itself. */
export interface GenerateContentBody {
  generationConfig?: Omit<GenerationConfig, "thinkingConfig"> & { thinkingConfig?: Thinking };
  systemInstruction?: Content;
  tools?: { functionDeclarations: FunctionDeclaration[] }[];
  contents: Content[];
  toolConfig?: { functionCallingConfig: CallingConfig };
}

export interface GoogleBody {
  body: GenerateContentBody;
  /** Reasoning items that were left out, because another provider or model wrote them (C5). */
  droppedReasoning: number;
}

/** `providerName` is the name under which this provider's own reasoning is kept in the history. */
export function googleBody(call: ModelCall, providerName: string): GoogleBody {
  const isOwn = (item: ReasoningItem): boolean =>
    item.provider === providerName && modelFamily(item.model) === modelFamily(call.model);
  const items = call.items.filter((item) => item.type !== "reasoning" || isOwn(item));
  const config = generationConfig(call);
  const body: GenerateContentBody = {
    ...(Object.keys(config).length > 0 && { generationConfig: config }),
    ...(call.prompt !== null && { systemInstruction: { parts: [{ text: call.prompt }] } }),
    ...(call.tools.length > 0 && { tools: [{ functionDeclarations: call.tools.map(functionDeclaration) }] }),
    contents: contents(items, call),
    ...toolConfig(call),
  };
  return { body, droppedReasoning: call.items.length - items.length };
}

function generationConfig({ settings, model }: ModelCall): NonNullable<GenerateContentBody["generationConfig"]> {
  const { temperature, maxOutputTokens, reasoningEffort } = settings;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(reasoningEffort !== undefined && { thinkingConfig: thinking(reasoningEffort, model) }),
  };
}

type Effort = NonNullable<ModelSettings["reasoningEffort"]>;

/** The budgets are those that Google's own OpenAI-compatible address gives the same words. */
const thinkingBudgets: Record<Effort, number> = { minimal: 1_024, low: 1_024, medium: 8_192, high: 24_576 };
const thinkingLevels = { minimal: "MINIMAL", low: "LOW", medium: "MEDIUM", high: "HIGH" } as const;

/** Version 2.5 takes budgets, later ones take levels, and no Pro model takes `MINIMAL`. */
function thinking(effort: Effort, model: string): Thinking {
  if (!wantsSignatures(model)) return { includeThoughts: true, thinkingBudget: thinkingBudgets[effort] };
  const isPro = /\bpro\b/.test(model);
  return { includeThoughts: true, thinkingLevel: thinkingLevels[isPro && effort === "minimal" ? "low" : effort] };
}

function functionDeclaration({ name, description, parameters }: ToolDefinition): FunctionDeclaration {
  return { name, ...(description !== undefined && { description }), parametersJsonSchema: parameters };
}

/**
 * A forced tool is always said, even where it is not in the list: the provider's refusal beats silence (E4).
 * `ANY` would force a call also where a mode only narrows the choice; `VALIDATED` leaves the model free to answer.
 */
function toolConfig(call: ModelCall): Pick<GenerateContentBody, "toolConfig"> {
  const choose = (config: CallingConfig): Pick<GenerateContentBody, "toolConfig"> => ({
    toolConfig: { functionCallingConfig: config },
  });
  if (call.toolChoice !== null) return choose({ mode: "ANY", allowedFunctionNames: [call.toolChoice] });
  if (call.allowedTools === null || call.tools.length === 0) return {};
  const allowed = call.tools.map((tool) => tool.name).filter((name) => call.allowedTools?.includes(name));
  return choose(allowed.length === 0 ? { mode: "NONE" } : { mode: "VALIDATED", allowedFunctionNames: allowed });
}

/** Roles alternate: neighbours of one role are one content. What has nothing to send is not there. */
function contents(items: readonly HistoryItem[], call: ModelCall): Content[] {
  const calls = callsOf(items);
  const made: { role: "user" | "model"; parts: Part[] }[] = [];
  for (const { role, said } of turns(items)) {
    const parts =
      role === "model"
        ? modelParts(said, call.model)
        : inOrder(said, calls).flatMap((item) => userParts(item, calls, call));
    const last = made.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) made.push({ role, parts });
  }
  return made;
}

function turns(items: readonly HistoryItem[]): { role: "user" | "model"; said: HistoryItem[] }[] {
  const made: { role: "user" | "model"; said: HistoryItem[] }[] = [];
  for (const item of items) {
    const role = item.type === "user" || item.type === "tool_result" ? "user" : "model";
    const last = made.at(-1);
    if (last?.role === role) last.said.push(item);
    else made.push({ role, said: [item] });
  }
  return made;
}

/** The calls of the history by id: what they called, and which of them came first. */
type Calls = ReadonlyMap<string, { name: string; place: number }>;

function callsOf(items: readonly HistoryItem[]): Calls {
  const calls = items.filter((item) => item.type === "tool_call");
  return new Map(calls.map(({ callId, name }, place) => [callId, { name, place }]));
}

/** Results must follow their calls at once, and in their order. */
function inOrder(said: readonly HistoryItem[], calls: Calls): HistoryItem[] {
  const placeOf = ({ callId }: ToolResultItem): number => calls.get(callId)?.place ?? 0;
  const results = said.filter((item) => item.type === "tool_result");
  const words = said.filter((item) => item.type !== "tool_result");
  return [...results.toSorted((a, b) => placeOf(a) - placeOf(b)), ...words];
}

function userParts(item: HistoryItem, calls: Calls, call: ModelCall): Part[] {
  if (item.type === "user") {
    const media = mediaOf(item, call).map(({ mediaType, base64 }) => ({
      inlineData: { mimeType: mediaType, data: base64 },
    }));
    return [...item.parts.map((text) => ({ text })), ...media];
  }
  return item.type === "tool_result" ? [{ functionResponse: functionResponse(item, calls) }] : [];
}

/** Responses are matched by id where Gemini gave one, else by name and order. */
function functionResponse({ callId, output, isError }: ToolResultItem, calls: Calls): FunctionResponse {
  const name = calls.get(callId)?.name ?? callId;
  return { ...wireId(callId), name, response: isError === true ? { error: output } : { output } };
}

/** An id that was made up here is not Gemini's: it is left out, as it was in the answer. */
function wireId(callId: string): { id?: string } {
  return isMadeUpCallId(callId) ? {} : { id: callId };
}

function modelParts(items: readonly HistoryItem[], model: string): Part[] {
  const parts: Part[] = [];
  let signature: string | null = null;
  for (const item of items) {
    switch (item.type) {
      case "assistant":
        if (item.text !== "") parts.push({ text: item.text });
        break;
      case "tool_call":
        parts.push(callPart(item, signature));
        signature = null;
        break;
      case "reasoning":
        signature = takeReasoning(item, parts);
        break;
      default:
    }
  }
  if (wantsSignatures(model)) signFirstCall(parts);
  return parts;
}

function callPart({ callId, name, arguments: text }: ToolCallItem, thoughtSignature: string | null): Part {
  const functionCall = { ...wireId(callId), name, args: argumentsObject(text) };
  return { functionCall, ...(thoughtSignature !== null && { thoughtSignature }) };
}

/** Adds the reasoning's thought, signs what it signs, and gives the signature that the next call shall carry. */
function takeReasoning({ text, opaque }: ReasoningItem, parts: Part[]): string | null {
  if (text !== "") parts.push({ text, thought: true });
  const own = ownReasoning.safeParse(opaque).data;
  if (own === undefined) return null;
  if (own.signs === "call") return own.thoughtSignature;
  signText(parts, own);
  return null;
}

/** A signed part is never joined with what stood before it: the signature would no longer fit. */
function signText(parts: Part[], own: Extract<OwnReasoning, { characters: number }>): void {
  const { thoughtSignature, characters } = own;
  const kind = own.signs === "thought" ? { thought: true } : {};
  const last = parts.at(-1);
  const text = last !== undefined && (last.thought ?? false) === (own.signs === "thought") ? (last.text ?? "") : "";
  if (text.length < characters) return;
  if (characters > 0) parts.pop();
  const before = text.slice(0, text.length - characters);
  if (characters > 0 && before !== "") parts.push({ text: before, ...kind });
  parts.push({ text: text.slice(text.length - characters), ...kind, thoughtSignature });
}

/** Of calls that were made together only the first carries a signature. */
function signFirstCall(parts: Part[]): void {
  const first = parts.find((part) => part.functionCall !== undefined);
  if (first !== undefined) first.thoughtSignature ??= noSignature;
}

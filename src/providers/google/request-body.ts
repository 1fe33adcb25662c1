/**
 * Builds the body of Gemini's `streamGenerateContent` from a model call. Pure. The model's name is part of the URL, not
 * of the body. The choice of tools comes after the history, because a mode changes it; the list of tools never changes
 * (E5, K3).
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
import type { ToolDefinition } from "../../domain/tool.ts";
import { argumentsObject } from "../call-arguments.ts";
import { loadedMediaOf, type LoadedMedia } from "../call-media.ts";
import { isGeneratedCallId } from "../call-ids.ts";
import { isOwnReasoning } from "../history-reasoning.ts";
import type { HttpBody } from "../http-provider.ts";
import type { ModelCall } from "../provider.ts";
import { settingNotes } from "../setting-notes.ts";
import { allowedToolCalls } from "../tool-choice.ts";
import { noSignature, type SignedReasoning, signedReasoning, wantsSignatures } from "./thought-signatures.ts";

/** The package's enums are code, which is not loaded. On the wire they are texts. */
type CallingConfig = Omit<FunctionCallingConfig, "mode"> & { mode: `${FunctionCallingConfigMode}` };
type Thinking = Omit<ThinkingConfig, "thinkingLevel"> & { thinkingLevel?: `${ThinkingLevel}` };

/** The package has types for the parts of this body, but not for the body itself. */
export interface GoogleBody {
  generationConfig?: Omit<GenerationConfig, "thinkingConfig"> & { thinkingConfig?: Thinking };
  systemInstruction?: Content;
  tools?: { functionDeclarations: FunctionDeclaration[] }[];
  contents: Content[];
  toolConfig?: { functionCallingConfig: CallingConfig };
}

/** `providerName` is the name under which this provider's own reasoning is kept in the history. */
export function googleBody(call: ModelCall, providerName: string): HttpBody<GoogleBody> {
  const items = call.items.filter(
    (item) => item.type !== "reasoning" || isOwnReasoning(item, call.model, providerName),
  );
  const config = generationConfig(call);
  const body: GoogleBody = {
    ...(Object.keys(config).length > 0 && { generationConfig: config }),
    ...(call.prompt !== null && { systemInstruction: { parts: [{ text: call.prompt }] } }),
    ...(call.tools.length > 0 && { tools: [{ functionDeclarations: call.tools.map(functionDeclaration) }] }),
    contents: contents(items, call),
    ...toolConfig(call),
  };
  return { body, droppedReasoning: call.items.length - items.length, adjusted: adjustedSettings(call) };
}

function generationConfig({ settings, model }: ModelCall): NonNullable<GoogleBody["generationConfig"]> {
  const { temperature, topP, maxOutputTokens, answerFormat, stop } = settings;
  const schema = answerFormat?.type === "schema" ? { responseJsonSchema: answerFormat.schema } : {};
  return {
    ...(answerFormat !== undefined && { responseMimeType: "application/json", ...schema }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stop !== undefined && { stopSequences: [...stop] }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...thinkingConfig(settings, model),
  };
}

/** The summary of the thoughts comes with an effort, and may be requested without one. */
function thinkingConfig(
  { reasoningEffort, reasoningSummary }: ModelSettings,
  model: string,
): Pick<NonNullable<GoogleBody["generationConfig"]>, "thinkingConfig"> {
  if (!thinks(model) || (reasoningEffort ?? reasoningSummary) === undefined) return {};
  return {
    thinkingConfig: reasoningEffort === undefined ? { includeThoughts: true } : thinking(reasoningEffort, model),
  };
}

/** Models before version 2.5 refuse every thinking setting. */
function thinks(model: string): boolean {
  return !/^(?:gemini-(?:1|2\.0)|gemma)/.test(model);
}

/** Returns a text for each setting that the model does not take as it is (G3). */
function adjustedSettings({ model, settings }: ModelCall): string[] {
  const { reasoningEffort: effort, reasoningSummary: summary } = settings;
  const nearest = effort === undefined || !thinks(model) ? effort : effortFor(effort, model);
  const isOfLength = summary !== undefined && summary !== "auto" && nearest !== "none";
  return settingNotes({
    model,
    settings,
    leftOut: [
      "verbosity",
      "parallelToolCalls",
      ...(thinks(model) || effort === "none" ? [] : (["reasoningEffort"] as const)),
      ...(thinks(model) || !isOfLength ? [] : (["reasoningSummary"] as const)),
    ],
    replaced: {
      ...(nearest !== undefined && nearest !== effort && { reasoningEffort: nearest }),
      ...(thinks(model) && isOfLength && { reasoningSummary: "auto" }),
    },
  });
}

function isPro(model: string): boolean {
  return /\bpro\b/.test(model);
}

type Effort = NonNullable<ModelSettings["reasoningEffort"]>;

/** Budgets in tokens, the same as Google's own OpenAI-compatible API has for these efforts. */
const thinkingBudgets: Record<Effort, number> = { none: 0, minimal: 1_024, low: 1_024, medium: 8_192, high: 24_576 };
const thinkingLevels = { minimal: "MINIMAL", low: "LOW", medium: "MEDIUM", high: "HIGH" } as const;

/** Returns the nearest effort that the model takes: only version 2.5 can be kept from thinking, and no Pro model of a later one takes `minimal`. */
function effortFor(effort: Effort, model: string): Effort {
  const nearest = effort === "none" && (wantsSignatures(model) || isPro(model)) ? "minimal" : effort;
  return nearest === "minimal" && wantsSignatures(model) && isPro(model) ? "low" : nearest;
}

/** Version 2.5 takes budgets, later ones take levels. */
function thinking(asked: Effort, model: string): Thinking {
  const effort = effortFor(asked, model);
  if (effort === "none") return { thinkingBudget: thinkingBudgets.none };
  if (!wantsSignatures(model)) return { includeThoughts: true, thinkingBudget: thinkingBudgets[effort] };
  return { includeThoughts: true, thinkingLevel: thinkingLevels[effort] };
}

function functionDeclaration({ name, description, parameters }: ToolDefinition): FunctionDeclaration {
  return { name, ...(description !== undefined && { description }), parametersJsonSchema: parameters };
}

function toolConfig(call: ModelCall): Pick<GoogleBody, "toolConfig"> {
  const config = callingConfig(call);
  return config === null ? {} : { toolConfig: { functionCallingConfig: config } };
}

/** `ANY` would force a call even if a mode only narrows the choice. `VALIDATED` leaves the model free to answer. */
function callingConfig(call: ModelCall): CallingConfig | null {
  const choice = allowedToolCalls(call);
  switch (choice.type) {
    case "free":
      return choice.mustCall ? { mode: "ANY" } : null;
    case "none":
      return { mode: "NONE" };
    case "forced":
      return { mode: "ANY", allowedFunctionNames: [choice.name] };
    case "some":
      return { mode: choice.mustCall ? "ANY" : "VALIDATED", allowedFunctionNames: choice.names };
  }
}

/** Roles alternate: neighbours of one role become one content. A content without parts is left out. */
function contents(items: readonly HistoryItem[], call: ModelCall): Content[] {
  const calls = callsOf(items);
  const made: { role: "user" | "model"; parts: Part[] }[] = [];
  for (const { role, items: ofRole } of itemsByRole(items)) {
    const parts =
      role === "model"
        ? modelParts(ofRole, call.model)
        : responsesFirst(inOrder(ofRole, calls).flatMap((item) => userParts(item, calls, call)));
    const last = made.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) made.push({ role, parts });
  }
  return made;
}

function itemsByRole(items: readonly HistoryItem[]): { role: "user" | "model"; items: HistoryItem[] }[] {
  const made: { role: "user" | "model"; items: HistoryItem[] }[] = [];
  for (const item of items) {
    const role = item.type === "user" || item.type === "tool_result" ? "user" : "model";
    const last = made.at(-1);
    if (last?.role === role) last.items.push(item);
    else made.push({ role, items: [item] });
  }
  return made;
}

/** The calls of the history by id, with the name of the tool and the index among the calls. */
type HistoryCalls = ReadonlyMap<string, { name: string; index: number }>;

function callsOf(items: readonly HistoryItem[]): HistoryCalls {
  const calls = items.filter((item) => item.type === "tool_call");
  return new Map(calls.map(({ callId, name }, index) => [callId, { name, index }]));
}

/** Results must follow their calls at once, and in the order of the calls. */
function inOrder(items: readonly HistoryItem[], calls: HistoryCalls): HistoryItem[] {
  const indexOf = ({ callId }: ToolResultItem): number => calls.get(callId)?.index ?? 0;
  const results = items.filter((item) => item.type === "tool_result");
  const others = items.filter((item) => item.type !== "tool_result");
  return [...results.toSorted((a, b) => indexOf(a) - indexOf(b)), ...others];
}

function userParts(item: HistoryItem, calls: HistoryCalls, call: ModelCall): Part[] {
  const media = loadedMediaOf(item, call);
  if (item.type === "user") return [...item.parts.map((text) => ({ text })), ...media.map(inlinePart)];
  if (item.type !== "tool_result") return [];
  const inside = media.filter(({ mediaType }) => isPartOfResponse(mediaType, call.model));
  const parts = inside.length > 0 ? { parts: inside.map(inlinePart) } : {};
  const beside = media.filter((each) => !inside.includes(each)).map(inlinePart);
  return [{ functionResponse: { ...functionResponse(item, calls), ...parts } }, ...beside];
}

function inlinePart({ mediaType, base64 }: LoadedMedia): { inlineData: { mimeType: string; data: string } } {
  return { inlineData: { mimeType: mediaType, data: base64 } };
}

/** Gemini 3 and later take images and documents as parts of a response. What they do not take so follows the responses. */
function isPartOfResponse(mediaType: string, model: string): boolean {
  return wantsSignatures(model) && /^(?:image\/(?:png|jpeg|webp)|application\/pdf)$/.test(mediaType);
}

/** Nothing may stand between the responses to calls that were made together. */
function responsesFirst(parts: readonly Part[]): Part[] {
  const isResponse = (part: Part): boolean => part.functionResponse !== undefined;
  return [...parts.filter(isResponse), ...parts.filter((part) => !isResponse(part))];
}

/** Gemini matches responses by id if it gave one, and otherwise by name and order. */
function functionResponse({ callId, output, isError }: ToolResultItem, calls: HistoryCalls): FunctionResponse {
  const name = calls.get(callId)?.name ?? callId;
  return { ...wireId(callId), name, response: isError === true ? { error: output } : { output } };
}

/** An id that was generated here is not Gemini's. It is left out, as it was in the answer. */
function wireId(callId: string): { id?: string } {
  return isGeneratedCallId(callId) ? {} : { id: callId };
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

/** Adds the reasoning's thought, signs what it signs, and returns the signature that the next call must carry. */
function takeReasoning({ text, opaque }: ReasoningItem, parts: Part[]): string | null {
  if (text !== "") parts.push({ text, thought: true });
  const own = signedReasoning.safeParse(opaque).data;
  if (own === undefined) return null;
  if (own.signs === "call") return own.thoughtSignature;
  signText(parts, own);
  return null;
}

/** A signed part is never joined with the text before it, because the signature would no longer match. */
function signText(parts: Part[], own: Extract<SignedReasoning, { characters: number }>): void {
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

/** The first of several calls that were made together carries the signature. The others have none. */
function signFirstCall(parts: Part[]): void {
  const first = parts.find((part) => part.functionCall !== undefined);
  if (first !== undefined) first.thoughtSignature ??= noSignature;
}

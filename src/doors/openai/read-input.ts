/**
 * Reads the items of a request as the engine has them: the last message of the person is the instruction, answers to calls of
 * an earlier response are results, and all else is an earlier item (O2, O5).
 */
import { openToolCalls, withResultsAtCalls, type ConversationItem } from "../../domain/history.ts";
import type { InputPart } from "../../domain/input-part.ts";
import type { ToolFeedback } from "../../domain/tool.ts";
import type { TurnRequest } from "../../engine/engine.ts";
import type { WireContent, WireContentPart, WireInputItem } from "./schemas/input-items.ts";
import { badParameter, unsupported } from "./wire-error.ts";

export type ConversationInput = Required<Pick<TurnRequest, "instruction" | "input" | "earlier" | "toolResults">>;

/** Returns the earlier items of items that refer to others: a stored item, or a compaction of a history. */
export type ResolveItem = (
  item: Extract<WireInputItem, { type: "item_reference" | "compaction" }>,
  at: string,
) => Promise<ConversationItem[]>;

/** Returns the items as the engine has them: in their order, but for outputs that come after a later message. */
export async function conversationItems(
  items: readonly WireInputItem[],
  resolve: ResolveItem,
): Promise<ConversationItem[]> {
  const made: ConversationItem[] = [];
  for (const [index, item] of items.entries()) made.push(...(await itemsOf(item, { at: `input[${index}]`, resolve })));
  return withResultsAtCalls(made);
}

/** Refuses calls without an output, as OpenAI does: what they returned is not known here, and is not invented (T8). */
export function refuseOpenCalls(items: readonly ConversationItem[]): void {
  const [open] = openToolCalls(items);
  if (open === undefined) return;
  throw badParameter("input", `No tool output found for function call ${open.callId}.`, null);
}

/** Returns what a turn is given. A result without its call in these items answers a call of the turn before. */
export function turnInput(items: readonly ConversationItem[]): ConversationInput {
  const called = new Set<string>();
  const given: ConversationItem[] = [];
  const toolResults: ToolFeedback[] = [];
  for (const item of items) {
    if (item.type === "tool_call") called.add(item.callId);
    if (item.type === "tool_result" && !called.has(item.callId)) {
      const { callId, output, media } = item;
      toolResults.push({ callId, output, isError: false, ...(media !== undefined && { media }) });
    } else given.push(item);
  }
  if (given.length === 0 && toolResults.length === 0) {
    throw badParameter("input", "Missing required parameter: 'input'.", "missing_required_parameter");
  }
  return { ...withInstruction(given), toolResults };
}

/** The last message of the person is the instruction, unless the model or a tool has answered it already. */
function withInstruction(
  given: readonly ConversationItem[],
): Pick<ConversationInput, "instruction" | "input" | "earlier"> {
  const last = given.findLastIndex((item) => item.type !== "system");
  const item = given[last];
  if (item?.type !== "user") return { instruction: "", input: [], earlier: [...given] };
  return { instruction: item.text, input: item.media ?? [], earlier: given.toSpliced(last, 1) };
}

interface Reading {
  at: string;
  resolve: ResolveItem;
}

async function itemsOf(item: WireInputItem, { at, resolve }: Reading): Promise<ConversationItem[]> {
  switch (item.type) {
    case "message":
      return messageOf(item, at);
    case "function_call":
      return [{ type: "tool_call", callId: item.call_id, name: item.name, arguments: item.arguments }];
    case "function_call_output": {
      const media = mediaOf(item.output, `${at}.output`);
      const result = { type: "tool_result" as const, callId: item.call_id, output: textOf(item.output) };
      return [{ ...result, ...(media.length > 0 && { media }) }];
    }
    case "item_reference":
    case "compaction":
      return await resolve(item, at);
  }
}

function messageOf(
  { role, content, phase }: Extract<WireInputItem, { type: "message" }>,
  at: string,
): ConversationItem[] {
  const text = textOf(content);
  if (role === "assistant") {
    return [{ type: "assistant", text, ...(typeof phase === "string" && { phase }) }];
  }
  if (role !== "user") return [{ type: "system", text }];
  const media = mediaOf(content, `${at}.content`);
  return [{ type: "user", text, ...(media.length > 0 && { media }) }];
}

function textOf(content: WireContent): string {
  if (typeof content === "string") return content;
  return content
    .flatMap((part) => ("text" in part ? [part.text] : "refusal" in part ? [part.refusal] : []))
    .join("\n\n");
}

function mediaOf(content: WireContent, at: string): InputPart[] {
  return typeof content === "string" ? [] : content.flatMap((part, index) => mediaOfPart(part, `${at}[${index}]`));
}

function mediaOfPart(part: WireContentPart, at: string): InputPart[] {
  if (part.type === "input_image") {
    if (typeof part.image_url !== "string") throw noFile(part, `${at}.image_url`);
    return [partOf(part.image_url, `${at}.image_url`)];
  }
  if (part.type !== "input_file") return [];
  if (typeof part.file_url === "string") return [{ type: "url", url: part.file_url, mode: "inline" }];
  if (typeof part.file_data !== "string") throw noFile(part, `${at}.file_data`);
  const name = typeof part.filename === "string" ? { name: part.filename } : {};
  return [{ ...partOf(part.file_data, `${at}.file_data`), ...name } as InputPart];
}

function noFile(part: { file_id?: string | null | undefined }, at: string): Error {
  if (typeof part.file_id === "string") {
    return unsupported(at.replace(/\w+$/, "file_id"), "Uploaded files are not supported; send the content itself.");
  }
  return badParameter(at, `Missing required parameter: '${at}'.`, "missing_required_parameter");
}

const dataUrl = /^data:([^;,]*)((?:;[^;,]*)*),/;

/** Reads an address, a data URL, or plain base64. */
export function partOf(text: string, at: string): InputPart {
  if (/^https?:\/\//i.test(text)) return { type: "url", url: text, mode: "inline" };
  const header = dataUrl.exec(text);
  if (header !== null && header[2]?.endsWith(";base64") !== true)
    throw badParameter(at, `Invalid value for '${at}': expected base64.`);
  const base64 = text.slice(header?.[0].length ?? 0);
  if (!/^[A-Za-z0-9+/_-]*={0,2}\s*$/.test(base64) || base64 === "") {
    throw badParameter(at, `Invalid value for '${at}': expected an address, or content in base64.`);
  }
  const mediaType = header?.[1] ?? "";
  const content = Buffer.from(base64, "base64");
  return { type: "binary", content, mode: "inline", ...(mediaType !== "" && { mediaType }) };
}

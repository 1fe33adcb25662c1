/** Makes the answers of the offline model (L3). Pure: the same call gets the same answer. */
import type { HistoryItem, ToolCallItem, ToolResultItem } from "../../domain/history.ts";
import type { ToolDefinition } from "../../domain/tool.ts";
import { plural } from "../../system/grouped-number.ts";
import type { ModelCall } from "../provider.ts";
import { bestQuotes, type SourceQuote } from "./rank.ts";
import { type OfflineConversation, readConversation, type QuotableSource } from "./read-messages.ts";
import { editCalls, type OfflineToolCall, simpleEdit } from "./simple-edit.ts";
import { offlineSummary, wantsSummary } from "./summary.ts";

/** The beginning of every text, so that no reader takes this for a model that thinks. */
export const offlineNotice =
  "This is aptove's built-in offline model: it does not think, it only quotes what retrieval found.";

const quotesMax = 3;
const shownOutputCharactersMax = 2_000;

export type OfflineAnswer = { calls: OfflineToolCall[] } | { text: string };

export function offlineAnswer(call: ModelCall): OfflineAnswer {
  if (wantsSummary(call)) return { text: offlineSummary(call) };
  const conversation = readConversation(call.items);
  const results = newResults(call.items).map((result) => describeResult(result, call.items));
  // Results without a new instruction are only described: calling tools again would never end.
  if (call.items.at(-1)?.type === "tool_result") return { text: joined([offlineNotice, ...results]) };
  const instruction = conversation.last?.instruction ?? "";
  const { calls, faults } = requestedCalls(instruction, call);
  if (calls.length > 0) return { calls };
  const isEdit = conversation.last?.mode === "edit";
  const edits = isEdit ? editCalls(instruction, offeredTools(call)) : [];
  if (edits.length > 0) return { calls: edits };
  const edit = isEdit ? editAnswer(instruction, conversation) : null;
  return {
    text: joined([offlineNotice, ...results, ...faults, ...(edit ?? quotingAnswer(instruction, conversation))]),
  };
}

/** Returns the results that came with the last message, or in its place. */
function newResults(items: readonly HistoryItem[]): ToolResultItem[] {
  const end = items.at(-1)?.type === "user" ? items.length - 1 : items.length;
  const start = items.slice(0, end).findLastIndex((item) => item.type !== "tool_result") + 1;
  return items.slice(start, end).filter((item) => item.type === "tool_result");
}

function describeResult({ callId, output, isError }: ToolResultItem, items: readonly HistoryItem[]): string {
  const call = items.findLast((item): item is ToolCallItem => item.type === "tool_call" && item.callId === callId);
  const shown =
    output.length > shownOutputCharactersMax
      ? `${output.slice(0, shownOutputCharactersMax).toWellFormed()}\n…`
      : output;
  return `The tool \`${call?.name ?? callId}\` ${isError === true ? "failed" : "answered"}:\n${fenced(shown, "text")}`;
}

/** Returns the call of the forced tool, or the calls in lines of the form `call <tool> {json}`. */
function requestedCalls(instruction: string, call: ModelCall): { calls: OfflineToolCall[]; faults: string[] } {
  if (call.toolChoice !== null) {
    const tool = call.tools.find(({ name }) => name === call.toolChoice);
    return {
      calls: [{ name: call.toolChoice, arguments: JSON.stringify(exampleArguments(tool, instruction)) }],
      faults: [],
    };
  }
  const offered = offeredTools(call);
  const calls: OfflineToolCall[] = [];
  const faults: string[] = [];
  for (const line of instruction.matchAll(/^[ \t]*call[ \t]+([\w-]+)[ \t]*(\{.*\})?[ \t]*$/gm)) {
    const [, name = "", written = "{}"] = line;
    if (offered.includes(name)) calls.push({ name, arguments: written });
    else faults.push(`I cannot call \`${name}\`: it is not among the tools of this turn.`);
  }
  return { calls, faults };
}

function offeredTools({ tools, allowedTools }: ModelCall): string[] {
  return tools.map(({ name }) => name).filter((name) => allowedTools?.includes(name) !== false);
}

/** Returns a value of the right type for each required property. A text gets the instruction. */
function exampleArguments(tool: ToolDefinition | undefined, instruction: string): Record<string, unknown> {
  const { properties, required } = (tool?.parameters ?? {}) as { properties?: unknown; required?: unknown };
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  const schemas = (properties ?? {}) as Record<string, { type?: unknown; enum?: unknown[] } | undefined>;
  return Object.fromEntries(names.map((name) => [name, exampleValue(schemas[name], instruction)]));
}

function exampleValue(schema: { type?: unknown; enum?: unknown[] } | undefined, instruction: string): unknown {
  if (schema?.enum !== undefined) return schema.enum[0];
  switch (schema?.type) {
    case "number":
    case "integer":
      return 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return instruction;
  }
}

/** Returns the texts for an instruction in one of the simple forms; null for any other. */
function editAnswer(instruction: string, { sources }: OfflineConversation): string[] | null {
  const edit = simpleEdit(instruction, sources);
  if (edit === null) return null;
  const faults = edit.faults.map((fault) => `I leave something out. ${fault}.`);
  if (edit.bundle.files.length === 0) return faults;
  return [...faults, "The change that you asked for:", fenced(JSON.stringify(edit.bundle, null, 2), "json")];
}

const editForms =
  'In edit mode I know these forms: `replace "a" with "b" in path`, `replace all "a" with "b" in path`, `delete path`, `create path with: text`.';

function quotingAnswer(instruction: string, conversation: OfflineConversation): string[] {
  const { sources, earlier, last } = conversation;
  const isEdit = last?.mode === "edit";
  const parts = isEdit ? [editForms] : [];
  if (sources.length === 0)
    return [...parts, "Nothing was retrieved and no file was given, so there is nothing to quote."];
  parts.push(inventory(sources, earlier));
  const quotes = bestQuotes(instruction, sources, quotesMax);
  if (quotes.length === 0) return [...parts, "None of it holds a word of the instruction."];
  // An answer in edit mode must not contain a json block that could be taken for a bundle.
  return [
    ...parts,
    "This fits best:",
    ...quotes.map((quote) => formatQuote(quote, isEdit ? "text" : quote.source.language)),
  ];
}

/** States how many sources there are, and how many of them came with earlier messages. */
function inventory(sources: readonly QuotableSource[], earlier: number): string {
  const chunks = sources.filter((source) => source.kind === "chunk").length;
  const counts = `${plural(chunks, "chunk")} and ${plural(sources.length - chunks, "file")}`;
  if (earlier === 0) return `I was given ${counts}.`;
  return `I was given ${counts}; ${earlier} of them I already had from earlier messages.`;
}

function formatQuote({ source, startLine, endLine, text }: SourceQuote, language: string): string {
  const ofChunk = source.kind === "chunk" ? chunkRange(source) : null;
  const own = `${startLine}-${endLine}`;
  const location =
    ofChunk === null || ofChunk === own ? `\`${source.path}:${own}\`` : `\`${source.path}:${ofChunk}\`, lines ${own}`;
  return `${location}\n${fenced(text, language)}`;
}

function chunkRange({ startLine, text }: QuotableSource): string {
  return `${startLine}-${startLine + text.replace(/\n$/, "").split("\n").length - 1}`;
}

function fenced(text: string, language: string): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  return `${fence}${language}\n${text}${text.endsWith("\n") || text === "" ? "" : "\n"}${fence}`;
}

function joined(parts: readonly string[]): string {
  return parts.join("\n\n");
}

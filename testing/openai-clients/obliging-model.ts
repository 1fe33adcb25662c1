/**
 * A model that does what it is asked, for suites that expect a model behind the API: it calls the tool that the question is
 * about, answers in the schema that is asked for, and otherwise repeats what it knows.
 */
import type { HistoryItem } from "../../src/domain/history.ts";
import type { ToolDefinition } from "../../src/domain/tool.ts";
import type { ModelCall } from "../../src/providers/provider.ts";
import type { ScriptedAnswer } from "../../src/providers/scripted/script.ts";

export function obligingModel(call: ModelCall, number: number): ScriptedAnswer {
  const tool = toolToCall(call);
  if (tool !== null) return [{ calls: tool.name, with: valueOf(tool.parameters), callId: `call_${number}` }];
  const format = call.settings.answerFormat;
  if (format !== undefined) return JSON.stringify(format.type === "schema" ? valueOf(format.schema) : { ok: true });
  const { maxOutputTokens, stop = [] } = call.settings;
  const text = call.items.map(textOf).filter(Boolean).join(" | ");
  return cutAt(upTo(text, stop), maxOutputTokens);
}

/** Returns the text in front of the first of these texts. */
function upTo(text: string, stops: readonly string[]): string {
  return stops.reduce((kept, stop) => kept.split(stop)[0] ?? "", text);
}

/** A token has three characters here. */
function cutAt(text: string, tokens = Number.POSITIVE_INFINITY): ScriptedAnswer {
  if (text.length <= tokens * 3) return text;
  const usage = { input: 10, output: tokens, cached: 0, reasoning: 0, total: 10 + tokens };
  return [{ says: text.slice(0, tokens * 3) }, { stops: "length", usage }];
}

/** The forced tool, else the first one, unless the last word was a tool's. */
function toolToCall({ tools, toolChoice, allowedTools, items, ...call }: ModelCall): ToolDefinition | null {
  const usable = tools.filter(({ name }) => allowedTools?.includes(name) ?? true);
  if (toolChoice !== null) return usable.find(({ name }) => name === toolChoice) ?? null;
  const isAnswered = items.at(-1)?.type === "tool_result";
  return isAnswered && call.mustCall !== true ? null : (usable[0] ?? null);
}

function textOf(item: HistoryItem): string {
  switch (item.type) {
    case "user":
      // Without the envelope of the turn.
      return item.parts.join("\n").split("[INSTRUCTION]\n").at(-1) ?? "";
    case "tool_result":
      return item.output;
    case "assistant":
    case "reasoning":
    case "tool_call":
      return "";
  }
}

interface JsonSchema {
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
}

/** Returns the plainest value of a schema. */
function valueOf(schema: object): Record<string, unknown> {
  return plainValue({ type: "object", ...schema }) as Record<string, unknown>;
}

function plainValue({ type, enum: values, properties = {}, items = {} }: JsonSchema): unknown {
  if (values !== undefined) return values[0];
  switch (Array.isArray(type) ? type[0] : type) {
    case "object":
      return Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, plainValue(inner)]));
    case "array":
      return [plainValue(items)];
    case "number":
    case "integer":
      return 7;
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return "San Francisco, CA";
  }
}

/**
 * What a person sees of a turn while its events arrive: a list of texts, tool calls and remarks. Pure, so that a stream that is
 * read again from its start gives the same view.
 */
import type { AgUiEvent } from "../../src/client/client.ts";

export type ToolView = Extract<AgUiEvent, { name: "aptove.tool_call_view" }>["value"]["view"];
export type ToolContent = ToolView["content"][number];
export type GivenContext = Extract<AgUiEvent, { name: "aptove.context" }>["value"];

export interface CallItem {
  kind: "call";
  id: string;
  name: string;
  args: string;
  view: ToolView | null;
  /** True while a person is asked whether the call may run. */
  asks: boolean;
  approved: boolean | null;
  output: string;
  result: { output: string; isError: boolean; content: ToolContent[] } | null;
}
export type ViewItem =
  | { kind: "text" | "reasoning"; id: string; text: string }
  | { kind: "steered"; id: string; text: string }
  | { kind: "warning"; id: string; code: string; text: string }
  | { kind: "subagent"; id: string; turnId: string; name: string; text: string; status: string }
  | CallItem;

export interface TurnView {
  items: ViewItem[];
  given: GivenContext | null;
  steps: number;
  /** How the run ended. Null: it runs. */
  end: { kind: "finished" | "failed"; message: string; code: string } | null;
}

export const emptyView: TurnView = { items: [], given: null, steps: 0, end: null };

/** The longest output of a running call that is kept. The whole result comes with its end. */
const outputCharactersMax = 20_000;

export function withEvent(view: TurnView, event: AgUiEvent): TurnView {
  switch (event.type) {
    case "TEXT_MESSAGE_START":
      return withItem(view, { kind: "text", id: event.messageId, text: "" });
    case "REASONING_MESSAGE_START":
      return withItem(view, { kind: "reasoning", id: event.messageId, text: "" });
    case "TEXT_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_CONTENT":
      return changed(view, event.messageId, (item) =>
        "text" in item ? { ...item, text: item.text + event.delta } : item,
      );
    case "TOOL_CALL_START":
      return withItem(view, newCall(event.toolCallId, event.toolCallName));
    case "TOOL_CALL_ARGS":
      return changedCall(view, event.toolCallId, (call) => ({ args: call.args + event.delta }));
    case "TOOL_CALL_RESULT":
      return withResult(view, event);
    case "STEP_STARTED":
      return { ...view, steps: view.steps + 1 };
    case "RUN_FINISHED":
      return { ...view, end: { kind: "finished", message: "", code: "" } };
    case "RUN_ERROR":
      return { ...view, end: { kind: "failed", message: event.message, code: event.code ?? "" } };
    case "CUSTOM":
      return withCustom(view, event);
    default:
      return view;
  }
}

function newCall(id: string, name: string): CallItem {
  return { kind: "call", id, name, args: "", view: null, asks: false, approved: null, output: "", result: null };
}

function withCustom(view: TurnView, event: Extract<AgUiEvent, { type: "CUSTOM" }>): TurnView {
  switch (event.name) {
    case "aptove.context":
      return { ...view, given: event.value };
    case "aptove.steered":
      return withItem(view, { kind: "steered", id: `steered-${view.items.length}`, text: event.value.text });
    case "aptove.warning": {
      const { code, message } = event.value;
      return withItem(view, { kind: "warning", id: `warning-${view.items.length}`, code, text: message });
    }
    case "aptove.tool_call_view": {
      const { callId, view: shown, asks = false } = event.value;
      return changedCall(view, callId, () => ({ view: shown, asks }));
    }
    case "aptove.approval_answered":
      return changedCall(view, event.value.callId, () => ({ asks: false, approved: event.value.approved }));
    case "aptove.tool_output":
      return changedCall(view, event.value.callId, ({ output }) => ({
        output: (output + event.value.delta).slice(0, outputCharactersMax),
      }));
    case "aptove.subagent_started": {
      const { turnId, name, instruction } = event.value;
      return withItem(view, {
        kind: "subagent",
        id: `sub-${turnId}`,
        turnId,
        name,
        text: instruction,
        status: "running",
      });
    }
    case "aptove.subagent_ended":
      return changed(view, `sub-${event.value.turnId}`, (item) => ({ ...item, status: event.value.status }));
    default:
      return view;
  }
}

function withResult(view: TurnView, event: Extract<AgUiEvent, { type: "TOOL_CALL_RESULT" }>): TurnView {
  const { isError = false, content = [] } = (event.metadata ?? {}) as { isError?: boolean; content?: ToolContent[] };
  const output = typeof event.content === "string" ? event.content : JSON.stringify(event.content);
  const result = { output, isError, content };
  // A call that waited for an approval began in the turn before.
  const isHere = view.items.some(({ id }) => id === event.toolCallId);
  const at = isHere ? view : withItem(view, newCall(event.toolCallId, "call"));
  return changedCall(at, event.toolCallId, () => ({ result, asks: false }));
}

function withItem(view: TurnView, item: ViewItem): TurnView {
  return { ...view, items: [...view.items, item] };
}

/** Changes the newest item with this id. It is near the end, because items end in the order in which they begin. */
function changed(view: TurnView, id: string, change: (item: ViewItem) => ViewItem): TurnView {
  const at = view.items.findLastIndex((item) => item.id === id);
  const item = view.items[at];
  return item === undefined ? view : { ...view, items: view.items.with(at, change(item)) };
}

function changedCall(view: TurnView, id: string, change: (call: CallItem) => Partial<CallItem>): TurnView {
  return changed(view, id, (item) => (item.kind === "call" ? { ...item, ...change(item) } : item));
}

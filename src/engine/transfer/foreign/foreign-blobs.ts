/** What a turn of another tool is as blobs of ours: the opening, the events, the history, and its source (O8). */
import { joinDeltas, type TurnEvent } from "../../../domain/events.ts";
import type { ForeignItem, ForeignTool } from "../../../domain/foreign.ts";
import type { HistoryItem } from "../../../domain/history.ts";
import { idOf } from "../../../domain/ids.ts";
import { extendState, type State, stateFile } from "../../../domain/lineage.ts";
import type { Usage } from "../../../domain/usage.ts";
import { blobKeys, encodeBlob } from "../../turn/kept/turn-blobs.ts";
import { noProvider } from "../../turn/prepare/chain.ts";
import { userMessage } from "../../turn/request/envelope.ts";
import type { ForeignTurnLine } from "./foreign-lines.ts";

export interface PlacedForeignTurn {
  tool: ForeignTool;
  id: string;
  sessionId: string;
  parentId: string | null;
  depth: number;
  state: State;
  turn: Omit<ForeignTurnLine, "subagents">;
  usage: Usage;
}

export interface ForeignBlobs {
  blobs: Map<string, Uint8Array>;
  state: State;
  answer: string;
  lastMessage: string;
}

const mode = "edit";

export function foreignBlobs(placed: PlacedForeignTurn): ForeignBlobs {
  const { id, depth, turn } = placed;
  const first = userMessage(mode, turn.instruction);
  const items = [first, ...turn.items.map(historyItem)];
  const state = extendState(placed.state, {
    turnId: id,
    depth,
    items,
    chunks: [],
    files: [],
    ...summaryOf(placed),
  });
  const opening = { turnId: id, base: null, instruction: turn.instruction, toolResults: [], message: first.parts };
  const texts = turn.items.flatMap((item) => (item.type === "assistant" ? [item.text] : []));
  const { parentId, sessionId, usage } = placed;
  const events = joinDeltas(eventsOf(turn, { turnId: id, parentTurnId: parentId, sessionId, usage, depth }));
  const blobs = new Map([
    [blobKeys.opening(id, null), encodeBlob("opening", { format: 1, ...opening, request: null })],
    [blobKeys.run(id, 1), encodeBlob("run", { format: 1, turnId: id, events, responses: [] })],
    [blobKeys.state(id), encodeBlob("state", stateFile(state))],
    [sourceKey(id), encodeBlob("part", { format: 1, turnId: id, base64: turn.source.gzip })],
  ]);
  return { blobs, state, answer: texts.join("\n\n"), lastMessage: texts.at(-1) ?? "" };
}

export function sourceKey(turnId: string): string {
  return blobKeys.part(turnId, idOf(`source ${turnId}`));
}

function historyItem(item: ForeignItem): HistoryItem {
  switch (item.type) {
    case "user":
      return userMessage(mode, item.text);
    case "reasoning":
      return { type: "reasoning", provider: noProvider, model: item.model, text: item.text };
    case "tool_result": {
      const { callId, output, isError } = item;
      return { type: "tool_result", callId, output, ...(isError && { isError }) };
    }
    case "assistant":
    case "tool_call":
      return item;
  }
}

/** A summary stands for the turns before, or also for the first items of its own turn. */
function summaryOf({ id, depth, parentId, turn }: PlacedForeignTurn): Pick<State["entries"][number], "summary"> {
  const { summary, model } = turn;
  if (summary === undefined) return {};
  const common = { provider: noProvider, model, text: summary.text };
  if (summary.items > 0) {
    const own = { throughTurnId: id, throughDepth: depth, throughItems: summary.items + 1 };
    return { summary: { ...common, ...own, instruction: turn.instruction } };
  }
  return parentId === null ? {} : { summary: { ...common, throughTurnId: parentId, throughDepth: depth - 1 } };
}

interface EventFacts {
  turnId: string;
  parentTurnId: string | null;
  sessionId: string;
  usage: Usage;
  depth: number;
}

function eventsOf(
  { items, stopReason }: Pick<ForeignTurnLine, "items" | "stopReason">,
  { usage, depth, ...place }: EventFacts,
): TurnEvent[] {
  const history = depth === 1 ? ("none" as const) : ("replay" as const);
  return [
    { type: "run_started", ...place },
    { type: "context", context: { history, historyTurns: depth - 1, chunks: [], files: [] } },
    ...items.flatMap((item, at) => itemEvents(item, `message-${at}`)),
    { type: "run_finished", status: "completed", stopReason, usage, deferredCalls: [] },
  ];
}

function itemEvents(item: ForeignItem, messageId: string): TurnEvent[] {
  switch (item.type) {
    case "user":
      return [{ type: "steered", text: item.text }];
    case "assistant":
      return [
        { type: "text_started", messageId },
        { type: "text_delta", messageId, delta: item.text },
        { type: "text_ended", messageId },
      ];
    case "reasoning":
      return [
        { type: "reasoning_started", messageId },
        { type: "reasoning_delta", messageId, delta: item.text },
        { type: "reasoning_ended", messageId },
      ];
    case "tool_call":
      return [
        { type: "tool_call_started", callId: item.callId, name: item.name },
        { type: "tool_call_delta", callId: item.callId, delta: item.arguments },
        { type: "tool_call_ended", callId: item.callId },
      ];
    case "tool_result":
      return [item];
  }
}

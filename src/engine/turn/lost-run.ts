/**
 * Reads what is known of the run of a lost turn (R6): its steps and its stored progress, and what only the live log has.
 * The live log may end in the middle of an answer, or may not be readable at all.
 */
import { failureOf, type Warning } from "../../domain/errors.ts";
import { splitDeltas, type TurnEvent } from "../../domain/events.ts";
import { openToolCalls, type HistoryItem, type ToolResultItem } from "../../domain/history.ts";
import type { Step } from "../../domain/step.ts";
import type { PendingTurn } from "../../domain/turn.ts";
import { readAll } from "../../live/event-log.ts";
import { parseArguments } from "../../tools/tool-call.ts";
import type { EngineCore } from "./live/engine-core.ts";
import type { ProgressBlob, RunBlob } from "./kept/turn-blobs.ts";
import { undeliveredSteers, undeliveredWarning } from "./kept/kept-steers.ts";
import { readProgress } from "./kept/turn-progress.ts";
import type { TurnBeginning } from "./kept/turn-state.ts";
import { userMessage } from "./request/envelope.ts";

export interface LostRun {
  /** All events, except the end. */
  events: TurnEvent[];
  warnings: Warning[];
  responses: RunBlob["responses"];
  outputs: NonNullable<RunBlob["outputs"]>;
  /** The items of the answer. Calls may be open. */
  items: HistoryItem[];
  /** Null if the progress does not have it: then it follows from the opening. */
  beginning: TurnBeginning | null;
  /** The steps that ended, and those of them that are not in the records yet. */
  steps: { all: Step[]; unstored: Step[] };
}

export async function readLostRun(core: EngineCore, turn: PendingTurn): Promise<LostRun> {
  const { report, blobs, records } = core.deps;
  const parts = await readProgress(blobs, turn.id, (error) =>
    report(`the progress of turn ${turn.id} could not be read; what came before it is kept`, error),
  );
  const kept = parts.flatMap((part) => splitDeltas(part.events));
  const { logged, warnings: lost } = await readLog(core, turn);
  const isLongest = logged.length >= kept.length;
  const events = isLongest ? logged : kept;
  const steers = await undeliveredSteers(blobs, turn.id, events);
  const warnings = [...lost, ...steers.map(undeliveredWarning)];
  const stored = await records.turns.listSteps(turn.id);
  const known = new Set(stored.map(({ index }) => index));
  const unstored = parts.flatMap(({ steps }) => steps).filter(({ index }) => !known.has(index));
  return {
    events: [...events, ...warnings.map((warning): TurnEvent => ({ type: "warning", warning }))],
    warnings: [...events.flatMap((event) => (event.type === "warning" ? [event.warning] : [])), ...warnings],
    responses: parts.flatMap(({ responses }) => responses),
    outputs: parts.flatMap(({ outputs }) => outputs),
    items: [...parts.flatMap(({ items }) => items), ...itemsOf(isLongest ? logged.slice(kept.length) : [], turn)],
    beginning: newestBeginning(parts),
    steps: { all: [...stored, ...unstored], unstored },
  };
}

function newestBeginning(parts: readonly ProgressBlob[]): TurnBeginning | null {
  return parts.findLast(({ beginning }) => beginning !== null)?.beginning ?? null;
}

/** Reads the live log. A log that cannot be read does not keep the session busy: the turn ends without it (R2). */
async function readLog(core: EngineCore, turn: PendingTurn): Promise<{ logged: TurnEvent[]; warnings: Warning[] }> {
  try {
    const logged = (await readAll(core.deps.log, turn.id, "patiently")) ?? [];
    return { logged: logged.map(({ event }) => event), warnings: [] };
  } catch (error) {
    core.deps.report(`the live log of turn ${turn.id} cannot be read; the turn ends without it`, error);
    const { code, message } = failureOf(error);
    const lost = "text that only the live log of this turn had is lost";
    return { logged: [], warnings: [{ code: "live_log_unreadable", message: `${lost} (${code}: ${message})` }] };
  }
}

/** Returns the items that the events show. Reasoning is left out: no provider takes it back without its own form. */
function itemsOf(events: readonly TurnEvent[], { mode }: PendingTurn): HistoryItem[] {
  const open = new Map<string, HistoryItem & { type: "assistant" | "tool_call" }>();
  const items: HistoryItem[] = [];
  const end = (id: string): void => {
    const item = open.get(id);
    open.delete(id);
    if (item !== undefined && (item.type === "tool_call" || item.text !== "")) items.push(item);
  };
  for (const event of events) {
    const shown =
      "messageId" in event ? open.get(event.messageId) : "callId" in event ? open.get(event.callId) : undefined;
    if (event.type === "text_started") open.set(event.messageId, { type: "assistant", text: "" });
    else if (event.type === "text_delta" && shown?.type === "assistant") shown.text += event.delta;
    else if (event.type === "tool_call_started")
      open.set(event.callId, { type: "tool_call", callId: event.callId, name: event.name, arguments: "" });
    else if (event.type === "tool_call_delta" && shown?.type === "tool_call") shown.arguments += event.delta;
    else if (event.type === "text_ended") end(event.messageId);
    else if (event.type === "tool_call_ended") end(event.callId);
    else if (event.type === "tool_result") items.push(resultOf(event));
    else if (event.type === "steered") items.push(userMessage(mode, event.text));
  }
  for (const [id, item] of [...open]) {
    // The log ends before the first piece of the arguments. Without them it would look like a call that has none.
    const isOnlyNamed = item.type === "tool_call" && item.arguments === "";
    if (!isOnlyNamed) end(id);
  }
  return withoutCutCalls(items);
}

function resultOf({ callId, output, isError }: Extract<TurnEvent, { type: "tool_result" }>): ToolResultItem {
  return { type: "tool_result", callId, output, ...(isError && { isError }) };
}

/** Leaves out calls whose arguments were cut off while they were written: such a call was never made. */
function withoutCutCalls(items: readonly HistoryItem[]): HistoryItem[] {
  const cut = openToolCalls(items).filter((call) => parseArguments(call.arguments) === null);
  return items.filter((item) => !cut.some((call) => call === item));
}

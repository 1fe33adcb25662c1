/** The items of a turn as a client sees them: what it was given, and what came out of it (O1). */
import type { Caller } from "../../domain/caller.ts";
import type { ConversationItem } from "../../domain/history.ts";
import { isHidden, type Turn } from "../../domain/turn.ts";
import type { AskedOfTurn, Engine } from "../../engine/engine.ts";
import { lastResponse, storedResponse } from "./responses/run-response.ts";
import type { ResolveItem } from "./read-input.ts";
import type { OutputItem } from "./responses/output-items.ts";
import { noItem, unlessHidden, unsupported } from "./wire-error.ts";
import { inputText, plainItem, type GivenItem, type PlainItem } from "./plain-items.ts";
import { keptItem } from "./conversations/conversation-items.ts";
import { itemId, itemPrefixes, turnOfItem } from "./wire-ids.ts";

export type WireItem = GivenItem | OutputItem;

/** Returns what the turn was given, in the order in which the model receives it. */
export async function givenItems(engine: Engine, caller: Caller, turnId: string): Promise<GivenItem[]> {
  const reader = await engine.turns.read(caller, turnId);
  const [asked, instruction] = await Promise.all([reader.asked(), reader.instruction()]);
  const media = (reader.turn.input ?? []).filter(({ mode }) => mode === "inline").length;
  const items = [...resultItems(asked), ...asked.earlier.flatMap(plainItem), ...instructionItem(instruction, media)];
  return items.map((item, index) => ({ ...item, id: itemId("given", turnId, index) }));
}

function resultItems({ toolResults }: AskedOfTurn): PlainItem[] {
  return toolResults.flatMap((result) =>
    "output" in result
      ? [{ type: "function_call_output", status: "completed", call_id: result.callId, output: result.output } as const]
      : [],
  );
}

function instructionItem(text: string, media: number): PlainItem[] {
  if (text === "" && media === 0) return [];
  const images = Array.from({ length: media }, () => image);
  return [{ type: "message", status: "completed", role: "user", content: [inputText(text), ...images] }];
}

const image = { type: "input_image", image_url: null, file_id: null, detail: "auto" } as const;

/** Returns what came out of a turn. Empty as long as it runs. */
async function outputItems(engine: Engine, caller: Caller, turn: Turn): Promise<OutputItem[]> {
  if (turn.status === "pending") return [];
  return (await lastResponse(await storedResponse(engine, caller, turn))).output;
}

/** Returns the items of a turn that have this id: one, or none. */
async function findItem(engine: Engine, caller: Caller, id: string): Promise<WireItem | null> {
  const turnId = turnOfItem(id);
  const turn = turnId === null ? null : await engine.turns.get(caller, turnId).catch(unlessHidden);
  if (turn === null || isHidden(turn)) return null;
  const isGiven = id.startsWith("in_");
  const items: WireItem[] = isGiven
    ? await givenItems(engine, caller, turn.id)
    : await outputItems(engine, caller, turn);
  return items.find((item) => item.id === id) ?? null;
}

/** Returns how an input's reference to a stored item is read. A foreign item and one that never was give the same error. */
export function itemResolver(engine: Engine, caller: Caller): ResolveItem {
  return async (item, at) => {
    if (item.type !== "item_reference") {
      throw unsupported(
        `${at}.type`,
        "A compaction item must come before the items that follow it, without a named response.",
      );
    }
    const kept = item.id.startsWith(`${itemPrefixes.kept}_`) ? await keptItem(engine, caller, item.id) : null;
    if (kept !== null) return plainItem(kept).flatMap((plain) => conversationItem({ ...plain, id: item.id }));
    const found = await findItem(engine, caller, item.id);
    if (found === null) throw noItem(item.id);
    return conversationItem(found);
  };
}

function conversationItem(item: WireItem): ConversationItem[] {
  switch (item.type) {
    case "message":
      return [{ type: item.role, text: textOf(item.content) }];
    case "function_call":
      return [{ type: "tool_call", callId: item.call_id, name: item.name, arguments: item.arguments }];
    case "function_call_output":
      return [{ type: "tool_result", callId: item.call_id, output: item.output }];
    default:
      return [];
  }
}

function textOf(content: readonly object[]): string {
  return content.flatMap((part) => ("text" in part && typeof part.text === "string" ? [part.text] : [])).join("\n\n");
}

/** The items of a conversation: those of its head's history, without what was removed (O2). */
import type { Caller } from "../../../domain/caller.ts";
import type { HistoryItem } from "../../../domain/history.ts";
import type { ItemRef } from "../../../domain/lineage.ts";
import type { Engine, TurnItems } from "../../../engine/engine.ts";
import { plainItem } from "../plain-items.ts";
import { itemId, turnOfItem } from "../wire-ids.ts";

export interface ConversationItemFound {
  id: string;
  ref: ItemRef;
  item: HistoryItem;
  wire: { id: string };
}

/** Returns the items at the end of a turn, oldest first. Null: there is no turn yet. */
export async function itemsAt(engine: Engine, caller: Caller, turnId: string | null): Promise<ConversationItemFound[]> {
  const history = turnId === null ? [] : await engine.turns.history(caller, turnId);
  return history.flatMap(itemsOfTurn);
}

function itemsOfTurn({ turnId, items }: TurnItems): ConversationItemFound[] {
  return items.flatMap(({ at, item }) => {
    const id = itemId("kept", turnId, at);
    const [plain] = item.type === "reasoning" ? [reasoning(item.text)] : plainItem(item);
    return plain === undefined ? [] : [{ id, ref: { turnId, at }, item, wire: { ...plain, id } }];
  });
}

function reasoning(text: string) {
  return { type: "reasoning" as const, status: "completed" as const, summary: [{ type: "summary_text", text }] };
}

/** Returns an item of a turn by its id. Null: there is none, or the caller may not see it. */
export async function keptItem(engine: Engine, caller: Caller, id: string): Promise<HistoryItem | null> {
  const turnId = turnOfItem(id);
  const items = turnId === null ? [] : await itemsAt(engine, caller, turnId);
  return items.find((each) => each.id === id)?.item ?? null;
}

/** Returns what must be removed with an item: a call goes with its result, and reasoning with what follows it (T8). */
export function removedWith(items: readonly ConversationItemFound[], id: string): ItemRef[] {
  const found = items.find((each) => each.id === id)?.item;
  if (found === undefined) return [];
  const callId = "callId" in found ? found.callId : null;
  return items
    .filter((each) => each.id === id || (callId !== null && "callId" in each.item && each.item.callId === callId))
    .map(({ ref }) => ref);
}

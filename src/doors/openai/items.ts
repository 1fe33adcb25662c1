/** The items of a turn as a client sees them: what it was given, and what came out of it (O1). */
import type { Caller } from "../../domain/caller.ts";
import type { HistoryItem } from "../../domain/history.ts";
import { isHidden, type Turn } from "../../domain/turn.ts";
import type { AskedOfTurn, Engine } from "../../engine/engine.ts";
import { lastResponse, storedResponse } from "./responses/run-response.ts";
import { conversationItems, type ResolveItem } from "./read-input.ts";
import type { OutputItem } from "./responses/output-items.ts";
import { noItem, unlessHidden, unsupported } from "./wire-error.ts";
import { personsMessage, type GivenItem } from "./plain-items.ts";
import { parseItems } from "./schemas/input-items.ts";
import { ownItem, itemsWithFiles, withContents } from "./items-with-files.ts";
import { keptItem } from "./conversations/conversation-items.ts";
import { itemId, itemPrefixes, turnOfItem } from "./wire-ids.ts";

export type WireItem = GivenItem | OutputItem;

/** An item that was given to a turn. Its images and files are read when it is shown. */
export interface ItemOfInput {
  id: string;
  wire: () => Promise<GivenItem>;
}

/** Returns what the turn was given, in the order in which the model receives it. */
export async function givenItems(engine: Engine, caller: Caller, turnId: string): Promise<ItemOfInput[]> {
  const reader = await engine.turns.read(caller, turnId);
  const { input } = reader.turn;
  const [asked, message] = await Promise.all([reader.asked(), reader.message()]);
  const parts = message.length > 0 ? message : personsMessage(await reader.instruction());
  const others = [...resultItems(asked), ...asked.earlier];
  const own = parts.length === 0 ? [] : [ownItem(parts, others, input)];
  const shown = itemsWithFiles([...others, ...own], input ?? []);
  return shown
    .filter((item) => item !== null)
    .map((item, index) => {
      const id = itemId("given", turnId, index);
      return { id, wire: async () => ({ ...(await withContents(item, reader)), id }) };
    });
}

function resultItems({ toolResults }: AskedOfTurn): HistoryItem[] {
  return toolResults.flatMap((result) => ("output" in result ? [{ type: "tool_result", ...result } as const] : []));
}

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
  if (!id.startsWith("in_")) return (await outputItems(engine, caller, turn)).find((item) => item.id === id) ?? null;
  const given = await givenItems(engine, caller, turn.id);
  return (await given.find((item) => item.id === id)?.wire()) ?? null;
}

/** Returns how an input's reference to a stored item is read. A foreign item and one that never was give the same error. */
export function itemResolver(engine: Engine, caller: Caller): ResolveItem {
  const resolve: ResolveItem = async (item, at) => {
    if (item.type !== "item_reference") {
      throw unsupported(
        `${at}.type`,
        "A compaction item must come before the items that follow it, without a named response.",
      );
    }
    const isKept = item.id.startsWith(`${itemPrefixes.kept}_`);
    const kept = isKept ? await keptItem(engine, caller, item.id) : null;
    const found = kept ?? (await findItem(engine, caller, item.id));
    if (found === null) throw noItem(item.id);
    // It is read as if the client had sent the item itself.
    return await conversationItems(parseItems([found], at), resolve);
  };
  return resolve;
}

/** The items of a conversation: those of its head's history, without what was removed (O2). */
import type { Caller } from "../../../domain/caller.ts";
import type { HistoryItem } from "../../../domain/history.ts";
import type { TurnPart } from "../../../domain/input-part.ts";
import type { ItemRef } from "../../../domain/lineage.ts";
import type { Engine, TurnItems } from "../../../engine/engine.ts";
import type { GivenItem } from "../plain-items.ts";
import { lastOfPerson, mayHaveFiles, itemsWithFiles, withContents } from "../items-with-files.ts";
import { unlessHidden } from "../wire-error.ts";
import { itemId, turnOfItem } from "../wire-ids.ts";

export interface ConversationItemFound {
  id: string;
  turnId: string;
  /** The item in the history, and what the program wrote because of it. */
  refs: ItemRef[];
  item: HistoryItem;
  /** Reads the item with its images and files. */
  wire: () => Promise<GivenItem>;
}

/** Returns the items at the end of a turn, oldest first. Null: there is no turn yet. */
export async function itemsAt(engine: Engine, caller: Caller, turnId: string | null): Promise<ConversationItemFound[]> {
  if (turnId === null) return [];
  const found: ConversationItemFound[] = [];
  for (const turn of await engine.turns.history(caller, turnId)) {
    const input = turn.items.some(({ item }) => mayHaveFiles(item)) ? await inputOf(engine, caller, turn.turnId) : [];
    found.push(...itemsOfTurn(turn, input, () => engine.turns.read(caller, turnId)));
  }
  return found;
}

/** A turn before a fork may be one that the caller cannot read. Its history is there all the same. */
async function inputOf(engine: Engine, caller: Caller, turnId: string): Promise<readonly TurnPart[]> {
  return (await engine.turns.get(caller, turnId).catch(unlessHidden))?.input ?? [];
}

function itemsOfTurn(
  { turnId, items }: TurnItems,
  input: readonly TurnPart[],
  reader: () => ReturnType<Engine["turns"]["read"]>,
): ConversationItemFound[] {
  const plain = items.map(({ item }) => item);
  const shown = itemsWithFiles(plain, input);
  const unseen = items.flatMap(({ at }, index) => (shown[index] === null ? [{ turnId, at }] : []));
  const last = lastOfPerson(plain);
  return items.flatMap(({ at, item }, index) => {
    const one = shown[index] ?? null;
    if (one === null) return [];
    const id = itemId("kept", turnId, at);
    const refs = [{ turnId, at }, ...(index === last ? unseen : [])];
    const wire = async () => ({
      ...(one.files.length === 0 ? one.plain : await withContents(one, await reader())),
      id,
    });
    return [{ id, turnId, refs, item, wire }];
  });
}

/** Returns an item of a turn by its id. Null: there is none, or the caller may not see it. */
export async function keptItem(engine: Engine, caller: Caller, id: string): Promise<GivenItem | null> {
  const turnId = turnOfItem(id);
  const items = turnId === null ? [] : await itemsAt(engine, caller, turnId);
  return (await items.find((each) => each.id === id)?.wire()) ?? null;
}

/** Returns what must be removed with an item: a call goes with its result, and reasoning with what follows it (T8). */
export function removedWith(items: readonly ConversationItemFound[], id: string): ItemRef[] {
  const found = items.find((each) => each.id === id)?.item;
  if (found === undefined) return [];
  const callId = "callId" in found ? found.callId : null;
  return items
    .filter((each) => each.id === id || (callId !== null && "callId" in each.item && each.item.callId === callId))
    .flatMap(({ refs }) => refs);
}

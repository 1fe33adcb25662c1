/**
 * Gives a stored history to a response that is not stored (O3). Its turn runs where no stored turn is, so it brings the history as
 * earlier items. Nothing of the stored turns changes.
 */
import type { Caller } from "../../../domain/caller.ts";
import { mediaOf, type ConversationItem, type HistoryItem } from "../../../domain/history.ts";
import type { InputPart, PartRef } from "../../../domain/input-part.ts";
import { isHidden } from "../../../domain/turn.ts";
import type { Engine, TurnReader, TurnRequest, Turns } from "../../../engine/engine.ts";
import { unlessHidden } from "../wire-error.ts";
import { plainText } from "../plain-items.ts";

interface Places {
  /** The engine with the stored turns. */
  engine: Engine;
  /** The turns that are not stored. */
  turns: Turns;
  caller: Caller;
}

/** Returns the request with the history of the stored turn that it continues, if it continues one. */
export async function withStoredHistory(places: Places, request: TurnRequest): Promise<TurnRequest> {
  const { engine, turns, caller } = places;
  const { after, toolResults = [], earlier = [], ...rest } = request;
  if (after === undefined || (await turns.get(caller, after.turnId).catch(unlessHidden)) !== null) return request;
  const stored = await engine.turns.get(caller, after.turnId).catch(unlessHidden);
  if (stored === null || stored.status === "pending" || isHidden(stored)) return request;
  const reader = await engine.turns.read(caller, stored.id);
  const history = (await engine.turns.history(caller, stored.id)).flatMap(({ items }) => items.map(({ item }) => item));
  const items = (await Promise.all(history.map((item) => itemsOf(item, reader)))).flat();
  const results = toolResults.flatMap((answer): ConversationItem[] => {
    if (!("output" in answer)) return [];
    const { isError: _isError, ...result } = answer;
    return [{ type: "tool_result", ...result }];
  });
  return { ...rest, earlier: [...items, ...results, ...earlier] };
}

async function itemsOf(item: HistoryItem, reader: TurnReader): Promise<ConversationItem[]> {
  if (item.type === "reasoning") return [];
  if (item.type !== "user" && item.type !== "tool_result") return [item];
  if (item.type === "user" && item.rank === "system") return [{ type: "system", text: plainText(item) }];
  const parts = await Promise.all(mediaOf(item).map((ref) => partOf(ref, reader)));
  const media = parts.length > 0 ? { media: parts } : {};
  if (item.type === "user") return [{ type: "user", text: plainText(item), ...media }];
  const { media: _refs, ...result } = item;
  return [{ ...result, ...media }];
}

async function partOf({ name, mediaType, ...content }: PartRef, reader: TurnReader): Promise<InputPart> {
  const part = { type: "binary", mode: "inline", source: null, name, mediaType, content } as const;
  const bytes = await reader.inputContent(part);
  return { type: "binary", content: bytes ?? new Uint8Array(), name, mediaType, mode: "inline" };
}

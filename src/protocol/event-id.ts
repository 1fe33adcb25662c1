/**
 * Ids of streamed events: the turn's id and the event's number in the turn. Because the id contains the turn, an id of
 * another turn is refused before a stream starts (V2).
 */
import { isId } from "../domain/ids.ts";

export interface EventId {
  turnId: string;
  /** Number of the event in its turn, from 1 without gaps. */
  seq: number;
}

/** Returns an event id as text. */
export function formatEventId(id: EventId): string {
  return `${id.turnId}:${id.seq}`;
}

/** Parses an event id, or returns null if `formatEventId` cannot have made the text. */
export function parseEventId(text: string): EventId | null {
  const match = /^([0-9a-f-]{36}):([1-9][0-9]{0,14})$/.exec(text);
  const turnId = match?.[1];
  if (turnId === undefined || !isId(turnId)) return null;
  return { turnId, seq: Number(match?.[2]) };
}

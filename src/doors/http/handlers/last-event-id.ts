/** Reads the position after which a listener wants events: the `Last-Event-ID` header, or `?after=` (V2). */
import { AptoveError } from "../../../domain/errors.ts";
import { parseEventId, type EventId } from "../../../protocol/event-id.ts";

/** Returns the id of the last event that the listener received. Null: from the beginning. The header wins over the query, because a reconnecting client sends it. */
export function lastEventId(request: Request, after: string | undefined): EventId | null {
  const text = headerOf(request) ?? after ?? "";
  if (text === "") return null;
  const id = parseEventId(text);
  if (id === null) throw new AptoveError("event_id_unknown", `${JSON.stringify(text)} is not an event id`);
  return id;
}

/** Returns the same position within one turn. The query may also be the number of events that the listener received. */
export function positionInTurn(request: Request, turnId: string, after: string | undefined): number {
  const isNumber = headerOf(request) === null && /^\d{1,15}$/.test(after ?? "");
  if (isNumber) return Number(after);
  const id = lastEventId(request, after);
  if (id === null) return 0;
  if (id.turnId !== turnId) {
    throw new AptoveError("event_id_unknown", `the event belongs to turn ${id.turnId}, not to ${turnId}`);
  }
  return id.seq;
}

/** An empty header names no event: a client that has received none may send it so. */
function headerOf(request: Request): string | null {
  return request.headers.get("last-event-id") || null;
}

/** From where a listener wants its events: the `Last-Event-ID` header, or `?after=` (V2). */
import { AptoveError } from "../../../domain/errors.ts";
import { parseEventId } from "../../../protocol/event-id.ts";
import type { EventId } from "../../../protocol/event-id.ts";

/** Null: from the beginning. The header counts where both are given: it is what a reconnecting client sends. */
export function lastEventId(request: Request, after: string | undefined): EventId | null {
  const text = request.headers.get("last-event-id") ?? after ?? "";
  if (text === "") return null;
  const id = parseEventId(text);
  if (id === null) throw new AptoveError("event_id_unknown", `${JSON.stringify(text)} is not an event id`);
  return id;
}

/** The same for the events of one turn, where a bare number of events that were had will do in the query. */
export function placeInTurn(request: Request, turnId: string, after: string | undefined): number {
  const isNumber = request.headers.get("last-event-id") === null && /^\d{1,15}$/.test(after ?? "");
  if (isNumber) return Number(after);
  const id = lastEventId(request, after);
  if (id === null) return 0;
  if (id.turnId !== turnId) {
    throw new AptoveError("event_id_unknown", `the event belongs to turn ${id.turnId}, not to ${turnId}`);
  }
  return id.seq;
}

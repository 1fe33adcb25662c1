/** Reads the events of a finished turn from its blobs (V2). */
import { isTerminal, type SequencedEvent, splitDeltas, type TurnEvent } from "../../../domain/events.ts";
import { readBlob } from "./turn-blobs.ts";
import type { StoredTurn } from "./turn-order.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import { readAll } from "../../../live/event-log.ts";
import { failure } from "../../../domain/errors.ts";

/**
 * Returns all events of a finished turn. If they could not be stored, on a full disk, they are in the live log. It may lack the
 * last ones, if its process could not write them either. The row knows these, so they are the same for every reader (T11).
 */
export async function keptEvents(
  { log, blobs }: Pick<EngineDependencies, "log" | "blobs">,
  turn: StoredTurn,
): Promise<SequencedEvent[]> {
  if (turn.blobs.run === null) return withEnd(turn, (await readAll(log, turn.id)) ?? []);
  const run = await readBlob<"run">(blobs, turn.blobs.run, turn.id);
  return numbered(splitDeltas(run.events));
}

function withEnd(turn: StoredTurn, logged: readonly SequencedEvent[]): SequencedEvent[] {
  const events = logged.map(({ event }) => event);
  if (events.length === 0) events.push(beginningOf(turn));
  const last = events.at(-1);
  if (last !== undefined && isTerminal(last)) return numbered(events);
  const isKnown = events.some((event) => event.type === "warning" && event.warning.code === "history_not_kept");
  const unkept = isKnown ? [] : turn.warnings.filter(({ code }) => code === "history_not_kept");
  return numbered([...events, ...unkept.map((warning): TurnEvent => ({ type: "warning", warning })), terminalOf(turn)]);
}

function beginningOf(turn: StoredTurn): TurnEvent {
  return { type: "run_started", sessionId: turn.sessionId, turnId: turn.id, parentTurnId: turn.parentId };
}

export function terminalOf(turn: StoredTurn): TurnEvent {
  const outcome = turn.status === "archived" ? turn.was : turn;
  const reason =
    outcome.status === "failed"
      ? outcome.failures[0]
      : failure("blob_missing", "the events of this turn were not stored");
  return { type: "run_failed", failure: reason, usage: turn.run.usage };
}

export function numbered(events: readonly TurnEvent[]): SequencedEvent[] {
  return events.map((event, index) => ({ seq: index + 1, event }));
}

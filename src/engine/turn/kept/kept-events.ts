/** Reads the events of a finished turn from its blobs (V2). */
import { type SequencedEvent, splitDeltas, type TurnEvent } from "../../../domain/events.ts";
import { readBlob } from "./turn-blobs.ts";
import type { StoredTurn } from "./turn-order.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import { readAll } from "../../../live/event-log.ts";
import { failure } from "../../../domain/errors.ts";

/** Returns all events of a finished turn. */
export async function keptEvents(
  { log, blobs }: Pick<EngineDependencies, "log" | "blobs">,
  turn: StoredTurn,
): Promise<SequencedEvent[]> {
  if (turn.blobs.run === null) return (await readAll(log, turn.id)) ?? numbered([beginningOf(turn), terminalOf(turn)]);
  const run = await readBlob<"run">(blobs, turn.blobs.run, turn.id);
  return numbered(splitDeltas(run.events));
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

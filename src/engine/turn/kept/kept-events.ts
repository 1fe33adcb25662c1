/** Reads the events of a finished turn from its blobs (V2). */
import { isTerminal, type SequencedEvent, type TurnEvent } from "../../../domain/events.ts";
import { KeptRun } from "./kept-run.ts";
import { readBlob } from "./turn-blobs.ts";
import type { StoredTurn } from "./turn-order.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import { readAll } from "../../../live/event-log.ts";
import { failure } from "../../../domain/errors.ts";

type Stores = Pick<EngineDependencies, "log" | "blobs">;

/** Returns all events of a finished turn. */
export async function keptEvents(stores: Stores, turn: StoredTurn): Promise<SequencedEvent[]> {
  return [...(await keptRun(stores, turn)).after(0)];
}

/**
 * Reads the run of a finished turn. If its events could not be stored, on a full disk, they are in the live log. It may lack the
 * last ones, if its process could not write them either. The row knows these, so they are the same for every reader (T11).
 */
export async function keptRun({ log, blobs }: Stores, turn: StoredTurn): Promise<KeptRun> {
  if (turn.blobs.run === null) return new KeptRun(withEnd(turn, (await readAll(log, turn.id)) ?? []));
  return new KeptRun((await readBlob<"run">(blobs, turn.blobs.run, turn.id)).events);
}

function withEnd(turn: StoredTurn, logged: readonly SequencedEvent[]): TurnEvent[] {
  const events = logged.map(({ event }) => event);
  if (events.length === 0) events.push(beginningOf(turn));
  const last = events.at(-1);
  if (last !== undefined && isTerminal(last)) return events;
  const isKnown = events.some((event) => event.type === "warning" && event.warning.code === "history_not_kept");
  const unkept = isKnown ? [] : turn.warnings.filter(({ code }) => code === "history_not_kept");
  return [...events, ...unkept.map((warning): TurnEvent => ({ type: "warning", warning })), terminalOf(turn)];
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

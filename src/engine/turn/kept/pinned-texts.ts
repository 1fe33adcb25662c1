/** Reads the passages of turns that are pinned (M6). */
import { AptoveError } from "../../../domain/errors.ts";
import { answerOf } from "../../../domain/events.ts";
import { pinnedPassage, type Pin, type TurnTexts } from "../../../domain/pin.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import { keptEvents } from "./kept-events.ts";
import { readBlob } from "./turn-blobs.ts";

type Stores = Pick<EngineDependencies, "records" | "blobs" | "log">;

/** Returns what can be pinned of a finished turn. Throws `history_unavailable` and `turn_not_finished`. */
export async function textsOfTurn({ records, ...deps }: Stores, turnId: string): Promise<TurnTexts> {
  const facts = { turnId };
  const turn = await records.turns.get(turnId);
  if (turn === null) throw new AptoveError("history_unavailable", `the turn ${turnId} no longer exists`, { facts });
  if (turn.status === "pending")
    throw new AptoveError("turn_not_finished", `turn ${turnId} is still running`, { facts });
  const { instruction } = await readBlob<"opening">(deps.blobs, turn.blobs.opening, turnId);
  const events = await keptEvents(deps, turn);
  return { instruction, answer: answerOf(events.map(({ event }) => event)) };
}

/** Returns the passages of pins, in the order of the pins. Each turn is read once. Throws also `blob_damaged`. */
export async function pinnedPassages(stores: Stores, pins: readonly Pin[]): Promise<string[]> {
  const turnIds = [...new Set(pins.map(({ turnId }) => turnId))];
  const read = turnIds.map(async (id) => [id, await textsOfTurn(stores, id)] as const);
  const texts = new Map(await Promise.all(read));
  return pins.map((pin) => pinnedPassage(pin, texts.get(pin.turnId) ?? { instruction: "", answer: "" }));
}

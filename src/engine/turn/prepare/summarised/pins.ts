/** Finds what the model lacks of the pins of a history, and repeats it (M6). */
import type { PinRef } from "../../../../domain/context.ts";
import { historySummary, repeatedPins, shownItems, summarisedItems, type State } from "../../../../domain/lineage.ts";
import { pinnedEntry, type Pin } from "../../../../domain/pin.ts";
import type { EngineDependencies } from "../../../dependencies.ts";
import { pinnedPassages } from "../../kept/pinned-texts.ts";
import { pinnedBlock } from "../../request/pinned-block.ts";

/** What a request repeats of the pins. */
export interface RepeatedPins {
  ids: string[];
  /** Null: nothing is repeated. */
  block: string | null;
}

/** Returns the pins of the turns that the history has. A turn of which an item was deleted does not count (O2). */
export function pinsOfHistory(pins: readonly Pin[], state: State): Pin[] {
  if (pins.length === 0) return [];
  const isShown = shownItems(state);
  return pins.filter((pin) => {
    const entry = pinnedEntry(state, pin);
    return entry !== undefined && entry.items.every((_, at) => isShown(entry.turnId, at));
  });
}

/** Returns the pins of turns that a summary stands for, also if only for a part of the turn. */
export function summarisedPins(pins: readonly Pin[], state: State): Pin[] {
  const summary = historySummary(state);
  return pinsOfHistory(pins, state).filter((pin) => {
    const entry = pinnedEntry(state, pin);
    return entry !== undefined && summarisedItems(entry, summary) > 0;
  });
}

/**
 * Returns what the message of a turn must repeat: passages that were pinned after a summary had replaced their turns. Throws
 * what the stores throw: a pinned passage is never left out in silence.
 */
export async function missingPins(
  stores: Pick<EngineDependencies, "records" | "blobs" | "log">,
  pins: readonly Pin[],
  state: State,
): Promise<RepeatedPins> {
  const repeated = repeatedPins(state);
  return await repeatPins(
    stores,
    summarisedPins(pins, state).filter(({ id }) => !repeated.has(id)),
  );
}

export async function repeatPins(
  stores: Pick<EngineDependencies, "records" | "blobs" | "log">,
  pins: readonly Pin[],
): Promise<RepeatedPins> {
  const texts = await pinnedPassages(stores, pins);
  const block = pinnedBlock(pins.map((pin, index) => ({ pin, text: texts[index] ?? "" })));
  return { ids: pins.map(({ id }) => id), block };
}

/** Returns the pins as a manifest lists them. `sent` are those that this turn repeats. */
export function pinRefs(pins: readonly Pin[], state: State, sent: readonly string[]): PinRef[] {
  const hidden = new Set(summarisedPins(pins, state).map(({ id }) => id));
  return pinsOfHistory(pins, state)
    .toSorted((a, b) => a.depth - b.depth || a.from - b.from)
    .map(({ id, turnId, part, from, to, contentHash }) => ({
      turnId,
      part,
      from,
      to,
      contentHash,
      given: hidden.has(id) ? "passage" : "turn",
      wasSent: sent.includes(id),
    }));
}

/** Returns the part of a manifest that lists the pins. */
export function pinsInManifest(refs: readonly PinRef[]): { pins?: PinRef[] } {
  return refs.length === 0 ? {} : { pins: [...refs] };
}

/**
 * A pin: a turn, or a passage of one, that no compaction drops (M6). A pin only says where the passage is. The passage
 * stays in its turn, so that it leaves the store with it.
 */
import { AptoveError } from "./errors.ts";
import { sha256, type Millis } from "./ids.ts";
import { limits } from "./limits.ts";
import type { State, StateEntry } from "./lineage.ts";

/** What of a turn a pin is about. `turn`: the instruction and the answer, as `wholeTurn` joins them. */
export const pinnableParts = ["turn", "instruction", "answer"] as const;
export type PinnablePart = (typeof pinnableParts)[number];

/** A passage of a turn: its characters from `from` up to `to`, which is not part of it, in UTF-16 code units. */
export interface Passage {
  turnId: string;
  part: PinnablePart;
  from: number;
  to: number;
}

export interface Pin extends Passage {
  id: string;
  /** The depth of the turn, which is its number in every history that has it. */
  depth: number;
  /** SHA-256 of the passage. */
  contentHash: string;
  createdAt: Millis;
}

/** The texts of a turn that can be pinned. */
export interface TurnTexts {
  instruction: string;
  answer: string;
}

export function textOfPart({ instruction, answer }: TurnTexts, part: PinnablePart): string {
  if (part !== "turn") return part === "answer" ? answer : instruction;
  return [instruction, answer].filter((text) => text !== "").join("\n\n");
}

/** Returns the pinned passage. Throws `blob_damaged` if the texts are not those that were pinned. */
export function pinnedPassage(pin: Pin, texts: TurnTexts): string {
  const passage = textOfPart(texts, pin.part).slice(pin.from, pin.to);
  if (sha256(passage) === pin.contentHash) return passage;
  const facts = { pinId: pin.id, turnId: pin.turnId };
  throw new AptoveError("blob_damaged", `turn ${pin.turnId} does not have the pinned passage; remove pin ${pin.id}`, {
    facts,
  });
}

/** Returns the entry of the turn that a pin is about. Undefined if the history does not have this turn. */
export function pinnedEntry({ entries }: State, { depth, turnId }: Pin): StateEntry | undefined {
  // A history has one entry for each depth.
  const entry = entries[depth - 1];
  return entry?.turnId === turnId ? entry : undefined;
}

/** Returns our estimate of the tokens of all passages. */
export function pinsTokens(pins: readonly Pick<Passage, "from" | "to">[]): number {
  return pins.reduce((sum, { from, to }) => sum + Math.ceil((to - from) / 4) + limits.pinFrameTokens, 0);
}

/** Returns the tokens that the pins of a session may have in a window. Null: the window is unknown. */
export function pinsRoom(window: number | null): number {
  return window === null ? limits.pinsTokensMax : Math.min(limits.pinsTokensMax, window * limits.pinsWindowShareMax);
}

/** Returns the pins or names that a fork below a turn of this depth takes over. Those of other branches apply to none of its turns. */
export function inheritedMarks<T extends { depth: number }>(all: readonly T[], depth: number): T[] {
  return all.filter((one) => one.depth <= depth);
}

/** A change of the pins of a session. `room`: the tokens that all pins together may have. */
export type PinChange = { add: Pin; room: number } | { remove: string };

/**
 * Returns the pins after a change. They stay as they are if the same passage is pinned already, if the new one does not fit,
 * and if there is no pin to remove.
 */
export function repinned(pins: readonly Pin[], change: PinChange): Pin[] {
  if ("remove" in change) return pins.filter(({ id }) => id !== change.remove);
  const all = [...pins, change.add];
  const fits = all.length <= limits.pinsPerSessionMax && pinsTokens(all) <= change.room;
  return fits && !pins.some((pin) => isSamePassage(pin, change.add)) ? all : [...pins];
}

export function isSamePassage(one: Passage, other: Passage): boolean {
  return one.turnId === other.turnId && one.part === other.part && one.from === other.from && one.to === other.to;
}

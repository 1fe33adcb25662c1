/**
 * The name that people gave a turn, so that they find it again (U5). A turn never changes (T2), so the name is a field of the session, like
 * a pin: a fork takes over the names of its history, and each session may name the same turn differently.
 */
import { limits } from "./limits.ts";

export interface TurnName {
  turnId: string;
  /** The depth of the turn, by which a fork knows whether its history may have it. */
  depth: number;
  name: string;
}

/** A change of the names of a session. Null: the turn has no name any more. */
export type TurnNameChange = Omit<TurnName, "name"> & { name: string | null };

/** Returns the names after a change. They stay as they are if the session has as many as it can have. */
export function renamedTurns(names: readonly TurnName[], { name, ...turn }: TurnNameChange): TurnName[] {
  const others = names.filter(({ turnId }) => turnId !== turn.turnId);
  if (name === null) return others;
  if (others.length >= limits.turnNamesPerSessionMax) return [...names];
  return [...others, { ...turn, name }].toSorted((a, b) => a.depth - b.depth);
}

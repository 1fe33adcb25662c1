/** The memory of workspaces (M3). */
import type { Caller } from "../../domain/caller.ts";
import type { Fact, FactChange, Memory } from "../../domain/fact.ts";

/**
 * The facts that the sessions of a workspace are given. Workspaces belong to those who run the server: for any other caller, and
 * for one that is restricted to another workspace, each method throws `workspace_unknown`, as for a workspace that does not exist.
 * A reader may not change anything (`forbidden`).
 */
export interface WorkspaceMemory {
  list(caller: Caller, workspaceId: string): Promise<Memory>;
  /** Throws `not_found`. */
  get(caller: Caller, of: FactChoice): Promise<Fact>;
  /**
   * Adds a fact. If there is one with the same text, it is returned. Makes the workspace `default` if it is missing. Throws
   * `fact_invalid`, and `not_found` for a source turn that the caller may not see.
   */
  add(caller: Caller, fact: AddedFact): Promise<Fact>;
  /** Replaces the text of a fact. Throws `fact_invalid`, `fact_changed`, `not_found`. */
  change(caller: Caller, change: FactChange & { workspaceId: string }): Promise<Fact>;
  /**
   * Removes a fact, and every other one with the same text, from the memory and so from every later request. Returns the turns
   * that were given it. They keep what they had until their session is purged. Of a fact that is forgotten already, it
   * returns the same. Throws `not_found` if there is no such fact, and no turn was given it.
   */
  forget(caller: Caller, of: FactChoice): Promise<Forgotten>;
}

export interface FactChoice {
  workspaceId: string;
  id: string;
}

export interface AddedFact {
  workspaceId: string;
  text: string;
  sourceTurnId?: string | null;
}

export interface Forgotten {
  /** The ids of the facts that were removed: the named one, and those with the same text. Empty if they were forgotten already. */
  ids: string[];
  /** The turns that were given one of the facts, oldest first, and the turns that they came from, as far as the caller may see them. */
  turns: TurnWithFact[];
  /** How many more turns were given one, in sessions of other people. */
  turnsOfOthers: number;
}

export interface TurnWithFact {
  sessionId: string;
  turnId: string;
  /** The turn's number in its session. */
  sequence: number;
  /** True if the fact came from this turn. */
  isSource: boolean;
}

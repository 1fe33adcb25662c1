/** A finished turn under inspection: its stored data and what the world knows of it. */
import type { SequencedEvent } from "../../src/domain/events.ts";
import type { FinishedTurn } from "../../src/domain/turn.ts";
import type { EngineCore } from "../../src/engine/turn/live/engine-core.ts";
import type { NaiveEntry, NaiveTurn } from "./naive-model.ts";
import type { OwnItems } from "./own-items.ts";
import type { World } from "./world.ts";

export interface Sight {
  world: World;
  turn: NaiveTurn;
  row: FinishedTurn;
  /** A reader without caches. */
  core: EngineCore;
  /** The history before the turn. */
  above: NaiveEntry[];
  events: SequencedEvent[];
}

/** What a turn that may be continued added to the history. */
export interface OwnEntry extends OwnItems {
  entry: NaiveEntry;
}

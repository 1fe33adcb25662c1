/** A finished turn as it is looked at: what the stores say of it beside what the world knows. */
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
  /** Without a memory. */
  core: EngineCore;
  /** The history before the turn. */
  above: NaiveEntry[];
  events: SequencedEvent[];
}

/** What a turn that may be continued added to the history. */
export interface OwnEntry extends OwnItems {
  entry: NaiveEntry;
}

/** Reads the history at the end of a turn, as a client may list it (O2). */
import type { Caller } from "../../domain/caller.ts";
import { shownItems } from "../../domain/lineage.ts";
import { visibleTurn } from "../access/visible.ts";
import type { TurnItems } from "../engine.ts";
import type { EngineCore } from "./live/engine-core.ts";

export async function historyOf(core: EngineCore, caller: Caller, turnId: string): Promise<TurnItems[]> {
  const { id } = await visibleTurn(core.deps, caller, turnId);
  const state = await core.histories.state(id);
  const isShown = shownItems(state);
  return state.entries.map((entry) => ({
    turnId: entry.turnId,
    items: entry.items.map((item, at) => ({ at, item })).filter(({ at }) => isShown(entry.turnId, at)),
  }));
}

/** Finds the turn that a client's whole history continues (O5). */
import type { Caller } from "../../domain/caller.ts";
import type { ConversationItem } from "../../domain/history.ts";
import { isHidden, mayBeParent } from "../../domain/turn.ts";
import { AptoveError } from "../../domain/errors.ts";
import { visibleTurn } from "../access/visible.ts";
import type { FoundTurn } from "../engine.ts";
import { beginningKeys } from "./kept/history-key.ts";
import type { EngineCore } from "./live/engine-core.ts";

/** How many keys are looked up at once. */
const keysAtOnce = 200;

/** Returns the turn at whose end exactly a beginning of these items was there, and the longest one. Null: there is none. */
export async function findByHistory(
  { deps }: EngineCore,
  caller: Caller,
  { items, below }: { items: readonly ConversationItem[]; below: string | undefined },
): Promise<FoundTurn | null> {
  const parent = below === undefined ? null : await visibleTurn(deps, caller, below);
  const from = parent !== null && "historyKey" in parent ? parent.historyKey : undefined;
  const keyed = beginningKeys(items, from);
  for (let at = 0; at < keyed.length; at += keysAtOnce) {
    const some = keyed.slice(at, at + keysAtOnce);
    const found = await deps.records.turns.findByHistory(
      caller.userId,
      some.map(({ key }) => key),
    );
    for (const { key, items: count } of found.length === 0 ? [] : some) {
      for (const { turnId, historyKey } of found) {
        if (historyKey === key && (await isThere(deps, caller, turnId))) return { turnId, items: count };
      }
    }
  }
  return null;
}

async function isThere(deps: EngineCore["deps"], caller: Caller, turnId: string): Promise<boolean> {
  try {
    const turn = await visibleTurn(deps, caller, turnId);
    return mayBeParent(turn) && !isHidden(turn);
  } catch (error) {
    if (error instanceof AptoveError && error.code === "not_found") return false;
    throw error;
  }
}

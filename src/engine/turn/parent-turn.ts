/** The turn that a new turn continues, and why some cannot be continued (S5, T8). */
import { AptoveError } from "../../domain/errors.ts";
import { mayBeParent, type ContinuableTurn, type Turn } from "../../domain/turn.ts";
import type { EngineCore } from "./live/engine-core.ts";

/** Reads the parent. Throws `history_unavailable`, `turn_not_continuable`. */
export async function readParent(
  { deps }: Pick<EngineCore, "deps">,
  id: string | null,
): Promise<ContinuableTurn | null> {
  return id === null ? null : continuable(existing(await deps.records.turns.get(id), id));
}

export function existing(turn: Turn | null, id: string): Turn {
  if (turn !== null) return turn;
  throw new AptoveError("history_unavailable", `the turn ${id} no longer exists`, { facts: { turnId: id } });
}

export function ofSubagent({ id }: Turn): AptoveError {
  return new AptoveError(
    "turn_not_continuable",
    `turn ${id} belongs to a subagent; only the agent that started the subagent continues it`,
    {
      facts: { turnId: id },
    },
  );
}

export function continuable(turn: Turn): ContinuableTurn {
  if (mayBeParent(turn)) return turn;
  if (turn.kind !== "agent") throw ofSubagent(turn);
  const fix = turn.status === "pending" ? "wait for it" : "continue from a completed one";
  throw new AptoveError("turn_not_continuable", `turn ${turn.id} is ${turn.status}; ${fix}`, {
    facts: { turnId: turn.id, status: turn.status },
  });
}

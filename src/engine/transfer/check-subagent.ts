/**
 * Checks the turns of subagents in an export (A1, A2): the lineage that a turn is in, and its messages of the mailbox.
 */
import type { MailboxDraft } from "../../domain/mailbox.ts";
import { messageOf } from "../../domain/turn.ts";
import type { StoredTurn } from "../turn/kept/turn-order.ts";
import { outcomeOf, type Ancestor } from "./check-turn.ts";

/** The facts of a turn of the file that the mailbox needs. */
export interface MailFacts {
  message: MailboxDraft | null;
  /** The subagents' turns whose messages the turn received. */
  had: string[];
}

export function mailFacts(turn: StoredTurn): MailFacts {
  const had = (turn.manifest.mailbox ?? []).map(({ turnId }) => turnId);
  const { subagent } = turn;
  if (turn.status !== "archived") return { message: messageOf(turn), had };
  if (subagent === undefined) return { message: null, had };
  const kind = outcomeOf(turn) === "failed" ? "subagent_failed" : "subagent_result";
  const { id: turnId, sessionId, statusAt: createdAt } = turn;
  return { message: { turnId, sessionId, kind, subagentId: subagent.id, name: subagent.name, createdAt }, had };
}

/**
 * Returns why a turn cannot be at its position, or null if it can. The turns of a subagent continue only each other,
 * and no other turn continues them.
 */
export function lineageFault(turn: StoredTurn, parent: Ancestor | null): string | null {
  const { id, kind, subagent, sessionId, spawnedBy } = turn;
  if ((kind === "async_subagent") !== (subagent !== undefined)) return "its kind and its subagent do not agree";
  if (subagent === undefined) return parent === null || parent.subagentId === null ? null : "it continues a subagent";
  if (id === sessionId || spawnedBy === null) return "no turn started its subagent";
  // A subagent whose first turns all failed has no turn to continue, and keeps its id.
  if (parent === null || parent.subagentId === subagent.id) return null;
  return "it continues a turn of another agent";
}

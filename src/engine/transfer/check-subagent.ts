/**
 * A turn of an export as a subagent's, or as one that a subagent wrote to (A1, A2): whose lineage it is in, and what it says of
 * the mailbox.
 */
import type { MailboxDraft } from "../../domain/mailbox.ts";
import { messageOf } from "../../domain/turn.ts";
import type { StoredTurn } from "../turn/kept/turn-order.ts";
import { outcomeOf, type Ancestor } from "./check-turn.ts";

/** What the mailbox needs to know of a turn of the file. */
export interface MailFacts {
  message: MailboxDraft | null;
  /** The subagents' turns whose messages it was given. */
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

/** Why a turn cannot be where it is: a subagent's turns continue each other and nobody else, and nobody else them. Null: it can. */
export function lineageFault(turn: StoredTurn, parent: Ancestor | null): string | null {
  const { id, kind, subagent, sessionId, spawnedBy } = turn;
  if ((kind === "async_subagent") !== (subagent !== undefined)) return "it is not said whose turn it is";
  if (subagent === undefined) return parent === null || parent.subagentId === null ? null : "it continues a subagent";
  if (id === sessionId || spawnedBy === null) return "nobody began its subagent";
  // One whose first turns all failed has no turn to go on from, and keeps its id.
  if (parent === null || parent.subagentId === subagent.id) return null;
  return "it continues another turn than its subagent's";
}

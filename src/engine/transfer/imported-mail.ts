/**
 * Subagents and the mailbox of an import (A1, A2). A file tells nothing of the mailbox: every turn of a subagent that ended
 * has its message, and the manifests of the turns that it was delivered to say so.
 */
import type { MailboxDraft } from "../../domain/mailbox.ts";
import { messageOf } from "../../domain/turn.ts";
import type { ImportedMessage } from "../../records/record-store.ts";
import type { StoredTurn } from "../turn-order.ts";
import type { CheckedFile, FileTurn } from "./check-file.ts";
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

/** The messages of the sessions that the import makes or adds to, in the order in which their turns ended. */
export function importedMail({ turns }: CheckedFile, sessionIds: ReadonlySet<string>): ImportedMessage[] {
  const all = [...turns.values()].filter(({ sessionId }) => sessionIds.has(sessionId));
  const takers = new Map<string, FileTurn>();
  for (const taker of all.filter(({ isContinuable }) => isContinuable).toSorted((a, b) => a.sequence - b.sequence)) {
    for (const turnId of taker.mail.had) {
      // A rerun repeats what its turn was given, and a fork what belongs to another session.
      if (turns.get(turnId)?.sessionId === taker.sessionId && !takers.has(turnId)) takers.set(turnId, taker);
    }
  }
  const messages = all.flatMap(({ mail, sequence }) => (mail.message === null ? [] : [{ ...mail.message, sequence }]));
  return messages
    .toSorted((a, b) => a.createdAt - b.createdAt || a.sequence - b.sequence)
    .map(({ sequence: _sequence, ...message }) => {
      const taker = takers.get(message.turnId);
      return { ...message, takenBy: taker?.id ?? null, deliveredAt: taker?.statusAt ?? null };
    });
}

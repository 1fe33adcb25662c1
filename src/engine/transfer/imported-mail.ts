/**
 * The mailbox of an import (A2). A file does not contain the mailbox: every ended turn of a subagent has its message,
 * and the manifests of the turns that received it name it.
 */
import type { ImportedMessage } from "../../records/record-store.ts";
import type { CheckedExport, FileTurn } from "./check-file.ts";

/** Returns the messages of the sessions that the import makes or extends, in the order in which their turns ended. */
export function importedMail({ turns }: CheckedExport, sessionIds: ReadonlySet<string>): ImportedMessage[] {
  const all = [...turns.values()].filter(({ sessionId }) => sessionIds.has(sessionId));
  const takers = new Map<string, FileTurn>();
  for (const taker of all.filter(({ isContinuable }) => isContinuable).toSorted((a, b) => a.sequence - b.sequence)) {
    for (const turnId of taker.mail.had) {
      // A rerun repeats the messages of the old turn, and a fork those of another session.
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

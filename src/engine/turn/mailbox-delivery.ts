/** The messages that a turn takes from the mailbox of its session, and the text that the model receives (A2). */
import { AptoveError, failureOf } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { MailboxMessage } from "../../domain/mailbox.ts";
import type { Turn } from "../../domain/turn.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { noDelivery, type MailboxDelivery } from "./prepare/turn-placement.ts";
import { shareRoom, type DeliveredMessage } from "./request/mailbox-block.ts";
import { turnReader } from "./turn-reader.ts";

/** Returns all messages that wait in the mailbox. Throws `mailbox_empty`. */
export async function waitingMail(core: EngineCore, sessionId: string): Promise<MailboxDelivery> {
  const waiting = await listWaiting(core, sessionId);
  if (waiting.length === 0) {
    throw new AptoveError("mailbox_empty", "no subagent has ended since the mailbox was last delivered");
  }
  const messages = await Promise.all(waiting.map((message) => delivered(core, message)));
  return { messages: shareRoom(messages), takes: waiting.map(({ turnId }) => turnId) };
}

/**
 * Returns the messages that a rerun delivers again: those of the turn that it repeats. In the same session it takes
 * those that were given back from the mailbox. Those that another turn has taken since are only repeated (T7).
 */
export async function repeatedMail(
  core: EngineCore,
  messages: readonly DeliveredMessage[],
  sessionId: string | null,
): Promise<MailboxDelivery> {
  if (messages.length === 0) return noDelivery;
  const waiting = sessionId === null ? [] : await listWaiting(core, sessionId);
  const had = new Set(messages.map(({ turnId }) => turnId));
  const takes = waiting.flatMap(({ turnId }) => (had.has(turnId) ? [turnId] : []));
  return { messages: [...messages], takes };
}

async function listWaiting({ deps }: EngineCore, sessionId: string): Promise<MailboxMessage[]> {
  const page = { waiting: true, limit: limits.subagentTurnsPerSessionMax };
  return await deps.records.subagents.listMail(sessionId, page);
}

async function delivered(core: EngineCore, message: MailboxMessage): Promise<DeliveredMessage> {
  const { turnId, subagentId, name, kind } = message;
  const turn = await core.deps.records.turns.get(turnId);
  const text = turn === null ? "(its turn no longer exists)" : await textOf(core, turn);
  return { turnId, subagentId, name, kind, text: text.replaceAll("\u0000", "\uFFFD") };
}

async function textOf(core: EngineCore, turn: Turn): Promise<string> {
  const end = turn.status === "archived" ? turn.was : turn;
  switch (end.status) {
    case "pending":
    case "awaiting_tool_results":
      return "(it has not ended)";
    case "failed": {
      const [{ code, message }] = end.failures;
      const output = await wholeAnswer(core, turn, "");
      return `It failed (${code}): ${message}${output === "" ? "" : `\n\nIts output until then:\n${output}`}`;
    }
    case "completed": {
      const output = end.finalMessage ?? (await shortAnswer(core, turn, end.answerSummary));
      const text = output === "" ? "(it wrote nothing)" : output;
      return end.stopReason === "stop" ? text : `(It was ended early: ${end.stopReason}.)\n\n${text}`;
    }
  }
}

/** Returns the answer. The row has its beginning, which is usually the whole answer, so no blob is read. */
async function shortAnswer(core: EngineCore, turn: Turn, summary: string): Promise<string> {
  return summary.length < limits.summaryCharactersMax - 1 ? summary : await wholeAnswer(core, turn, summary);
}

/**
 * Returns the whole answer. A damaged answer does not block the other messages: the model receives the part that can be
 * read, and the reason.
 */
async function wholeAnswer(core: EngineCore, turn: Turn, otherwise: string): Promise<string> {
  try {
    return await turnReader(core, turn).answer();
  } catch (error) {
    return `(The whole text cannot be read: ${failureOf(error).code}.)\n${otherwise}`;
  }
}

/** The mailbox of a session on the wire (A2). */
import { z } from "zod";
import { isoTime } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import type { MailboxMessage } from "../domain/mailbox.ts";
import { isoTimeOrNull } from "./session.ts";
import { id, queryFlag, time, queryNumber } from "./values.ts";

export const mailboxKind = z.enum(["subagent_result", "subagent_failed"]);

const message = z
  .object({
    number: z.int().describe("Its place in the session's mailbox, from 1: the order of delivery."),
    kind: mailboxKind,
    turnId: id.describe("The subagent's turn that ended; its answer is the message."),
    subagentId: id,
    name: z.string(),
    createdAt: time,
    takenBy: id.nullable().describe("The turn that has it: it still runs, or had it delivered. Null: it waits."),
    deliveredAt: time.nullable().describe("When that turn ended well; null: not yet."),
  })
  .meta({ id: "MailboxMessage" });
export type WireMailboxMessage = z.infer<typeof message>;

export const mailboxQuery = z.strictObject({
  waiting: queryFlag().optional().describe("Only those that wait."),
  after: queryNumber(0).optional().describe("Only messages with a larger number."),
  limit: queryNumber(1, limits.pageSizeMax).optional(),
});

export const mailbox = z
  .object({
    messages: z.array(message).describe("Oldest first."),
    nextAfter: z.int().nullable().describe("`after` for the next page; null on the last."),
    runningTurnIds: z.array(id).describe("Turns of subagents that run now: their messages will come."),
  })
  .meta({ id: "Mailbox" });
export type WireMailbox = z.infer<typeof mailbox>;

export function toWireMessage({ sessionId: _session, ...of }: MailboxMessage): WireMailboxMessage {
  return { ...of, createdAt: isoTime(of.createdAt), deliveredAt: isoTimeOrNull(of.deliveredAt) };
}

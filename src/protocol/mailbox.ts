/** The mailbox of a session in responses (A2). */
import * as z from "zod";
import { isoTime } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import type { MailboxMessage } from "../domain/mailbox.ts";
import { isoTimeOrNull } from "./session.ts";
import { idSchema, queryFlag, timeSchema, queryNumber } from "./values.ts";

export const mailboxKindSchema = z.enum(["subagent_result", "subagent_failed"]);

const message = z
  .object({
    number: z
      .int()
      .describe("Number of the message in the session's mailbox, from 1. Messages are delivered in this order."),
    kind: mailboxKindSchema,
    turnId: idSchema.describe("The subagent's turn that ended; its answer is the message."),
    subagentId: idSchema,
    name: z.string(),
    createdAt: timeSchema,
    takenBy: idSchema
      .nullable()
      .describe(
        "The turn that took the message and is still running, or to which the message was delivered. Null: the message waits.",
      ),
    deliveredAt: timeSchema
      .nullable()
      .describe("The time when that turn completed. Null: the message is not yet delivered."),
  })
  .meta({ id: "MailboxMessage" });
export type WireMailboxMessage = z.infer<typeof message>;

export const mailboxQuerySchema = z.strictObject({
  waiting: queryFlag().optional().describe("Show only messages that wait."),
  after: queryNumber(0).optional().describe("Only messages with a larger number."),
  limit: queryNumber(1, limits.pageSizeMax).optional(),
});

export const mailboxSchema = z
  .object({
    messages: z.array(message).describe("Oldest first."),
    nextAfter: z.int().nullable().describe("The value of `after` for the next page. Null on the last page."),
    runningTurnIds: z.array(idSchema).describe("Turns of subagents that are running; their messages will follow."),
  })
  .meta({ id: "Mailbox" });
export type WireMailbox = z.infer<typeof mailboxSchema>;

export function toWireMessage({ sessionId: _session, ...of }: MailboxMessage): WireMailboxMessage {
  return { ...of, createdAt: isoTime(of.createdAt), deliveredAt: isoTimeOrNull(of.deliveredAt) };
}

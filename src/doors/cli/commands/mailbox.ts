/** `aptove session mailbox | fire`: shows what subagents left, and sends it to the session's agent (A2). */
import type { AptoveClient, WireMailboxMessage } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import { localTime } from "../show/explain.ts";
import { exitCodes, type ExitCode } from "../failure.ts";
import { namedSession, shortId } from "../lookup/find-by-id.ts";
import { firstLine, type CliOutput } from "../output.ts";
import { mailboxLine } from "../show/subagent-lines.ts";
import { ask } from "./ask.ts";

export interface MailboxOptions {
  all?: boolean;
}

export interface FireOptions {
  context?: string;
  queue?: boolean;
  interrupt?: boolean;
}

export async function showMailbox(
  invocation: CliInvocation,
  id: string | undefined,
  { all }: MailboxOptions,
): Promise<ExitCode> {
  const client = await invocation.client();
  const session = await namedSession(client, id, (await invocation.copy()).repo);
  const { messages, runningTurnIds } = await wholeMailbox(client, session.id, all !== true);
  const { output } = invocation;
  if (invocation.json) {
    output.json({ messages, runningTurnIds });
    return exitCodes.fine;
  }
  for (const message of messages) output.line(lineOf(message, output));
  const waiting = messages.filter(({ takenBy }) => takenBy === null).length;
  const way = `aptove session fire ${shortId(session.id)}`;
  output.note(mailboxLine({ waiting, running: runningTurnIds.length }, way) ?? "nothing waits in the mailbox");
  return exitCodes.fine;
}

async function wholeMailbox(client: AptoveClient, sessionId: string, waiting: boolean) {
  const messages: WireMailboxMessage[] = [];
  for (let after = 0; ;) {
    const page = await client.sessions.mailbox(sessionId, { after, ...(waiting && { waiting }) });
    messages.push(...page.messages);
    if (page.nextAfter === null) return { messages, runningTurnIds: page.runningTurnIds };
    after = page.nextAfter;
  }
}

function lineOf(
  { number, kind, turnId, name, createdAt, takenBy, deliveredAt }: WireMailboxMessage,
  output: CliOutput,
): string {
  const { yellow, dim } = output.style;
  const end = kind === "subagent_failed" ? "failed" : "has ended";
  const taker =
    takenBy === null ? "waits" : `${deliveredAt === null ? "taken by" : "delivered to"} turn ${shortId(takenBy)}`;
  const who = output.safe(firstLine(name, 60));
  return `${yellow(shortId(turnId))} ${number} "${who}" ${end}, ${taker} ${dim(localTime(createdAt).slice(0, 16))}`;
}

export async function fireMailbox(
  invocation: CliInvocation,
  id: string,
  { words, options }: { words: string[]; options: FireOptions },
): Promise<ExitCode> {
  return await ask(invocation, words, { ...options, session: id, fire: true });
}

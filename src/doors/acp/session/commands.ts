/** Slash commands that a user types in place of a prompt. They are for the session itself, not for the model. */
import type { AvailableCommand } from "@agentclientprotocol/sdk";
import { isoTime } from "../../../domain/ids.ts";
import type { Session } from "../../../domain/session.ts";
import type { TurnRequest } from "../../../engine/engine.ts";
import { writeStarterRules } from "../../../working-copy/starter-rules.ts";
import type { AcpClient } from "../client/acp-client.ts";
import { clientFiles } from "../client/client-files.ts";
import type { OpenSession } from "./open-session.ts";
import type { OpenedPorts } from "../ports.ts";

export const sessionCommands: AvailableCommand[] = [
  {
    name: "rerun",
    description: "Answer the last prompt again; the old answer is kept too",
    input: { hint: "another prompt to answer instead" },
  },
  { name: "retry", description: "Run the newest prompt again, beside its answer; after a failure too" },
  {
    name: "review",
    description: "Review the changes of the working copy",
    input: { hint: "what to look at" },
  },
  {
    name: "compact",
    description: "Replace the conversation so far by a summary in what the model sees, before the next prompt",
    input: { hint: "the next prompt" },
  },
  { name: "init", description: "Write a first AGENTS.md from what the repository has; an existing one stays" },
  { name: "undo", description: "Continue from before the last prompt, as if it had not been sent" },
  {
    name: "fire",
    description: "Give the model the answers of subagents that wait in the mailbox",
    input: { hint: "what else to do with them" },
  },
  {
    name: "pin",
    description:
      "Keep the last prompt and its answer, or a passage of them, word for word when the session is summarised",
    input: { hint: "the passage; default: both as a whole" },
  },
  { name: "unpin", description: "Remove a pin, or all of them", input: { hint: "the pin, as /pins shows it, or all" } },
  { name: "pins", description: "Show what is pinned" },
  { name: "title", description: "Name this session", input: { hint: "the name" } },
];

/** What a command leads to. `none`: the text is a prompt. `turn`: run this turn instead. `answered`: nothing is left to do. */
export type SessionCommandOutcome = { kind: "none" } | { kind: "turn"; turn: TurnRequest } | { kind: "answered" };

interface CommandContext {
  opened: OpenedPorts;
  session: OpenSession;
  client: AcpClient;
}

/** Returns true for a text that is for the session itself. */
export function isSessionCommand(text: string): boolean {
  const [, name] = /^\/([a-z]+)(?:\s|$)/.exec(text.trim()) ?? [];
  return sessionCommands.some((command) => command.name === name);
}

export async function runSessionCommand(text: string, commanded: CommandContext): Promise<SessionCommandOutcome> {
  const [, name, rest = ""] = /^\/([a-z]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  switch (name) {
    case "rerun":
      return await rerun(commanded, rest.trim());
    case "retry":
      return await rerun(commanded, "");
    case "review":
      return review(commanded, rest.trim());
    case "compact":
      return await compact(commanded, rest.trim());
    case "init":
      return await init(commanded);
    case "undo":
      return await undo(commanded);
    case "fire":
      return await fire(commanded, rest.trim());
    case "pin":
      return await pin(commanded, rest.trim());
    case "unpin":
      return await unpin(commanded, rest.trim());
    case "pins":
      return await showPins(commanded);
    case "title":
      return await title(commanded, rest.trim());
    default:
      return { kind: "none" };
  }
}

async function rerun(commanded: CommandContext, instruction: string): Promise<SessionCommandOutcome> {
  const { id, lastSequence } = await sessionOf(commanded);
  if (lastSequence === 0) return await sendMessage(commanded, "There is no prompt in this session to answer again.");
  return { kind: "turn", turn: { sessionId: id, retry: true, instruction } };
}

function review({ session }: CommandContext, what: string): SessionCommandOutcome {
  const about = what === "" ? "the changes of the working copy that are not committed" : what;
  const instruction = `Review ${about}. Look for faults, missing tests and unclear code; name file and line for each finding, the most serious first. Change nothing.`;
  return { kind: "turn", turn: { sessionId: session.facts.id, instruction } };
}

/** A summary belongs to a turn, so it is written when the next one begins. */
async function compact(commanded: CommandContext, instruction: string): Promise<SessionCommandOutcome> {
  const { session } = commanded;
  const { headTurnId, originTurnId, id: sessionId } = await sessionOf(commanded);
  if ((headTurnId ?? originTurnId) === null) return await sendMessage(commanded, "There is nothing to summarise yet.");
  session.compactsNext = true;
  if (instruction !== "") return { kind: "turn", turn: { sessionId, instruction } };
  return await sendMessage(commanded, "The next prompt begins with a summary of the conversation so far.");
}

/** Writes into the folder of the session, through an editor that writes files itself (P4). */
async function init(commanded: CommandContext): Promise<SessionCommandOutcome> {
  const { session, client } = commanded;
  const { id, folders } = session.facts;
  const { writeText } = clientFiles(client, id);
  const write =
    writeText && (async (path: string, text: string): Promise<void> => await writeText(path, text, client.gone));
  const { file, isWritten } = await writeStarterRules(folders[0], write);
  const message = isWritten
    ? `Wrote ${file}. Read it and complete it; the next session begins with it.`
    : `${file} exists already, and stays as it is.`;
  return await sendMessage(commanded, message);
}

async function undo(commanded: CommandContext): Promise<SessionCommandOutcome> {
  const { opened, session } = commanded;
  const { undoneTurnId, session: after } = await opened.engine.tree.undo(opened.caller, session.facts.id);
  if (undoneTurnId === null) return await sendMessage(commanded, "There is no prompt in this session to undo.");
  session.seenTurnId = after.headTurnId;
  return await sendMessage(
    commanded,
    "The session continues from before the last prompt. The files on disk are not changed.",
  );
}

async function fire(commanded: CommandContext, instruction: string): Promise<SessionCommandOutcome> {
  const { opened, session } = commanded;
  const { id: sessionId } = session.facts;
  const { messages } = await opened.engine.sessions.mailbox(opened.caller, sessionId, { waiting: true, limit: 1 });
  if (messages.length === 0) return await sendMessage(commanded, "The mailbox has no new answers of subagents.");
  return { kind: "turn", turn: { sessionId, fire: true, instruction } };
}

async function pin(commanded: CommandContext, text: string): Promise<SessionCommandOutcome> {
  const { opened, session } = commanded;
  const { headTurnId, originTurnId } = await sessionOf(commanded);
  const turnId = headTurnId ?? originTurnId;
  if (turnId === null) return await sendMessage(commanded, "There is no prompt in this session to pin.");
  await opened.engine.sessions.pins.add(opened.caller, session.facts.id, { turnId, ...(text !== "" && { text }) });
  return await showPins(commanded);
}

async function showPins(commanded: CommandContext): Promise<SessionCommandOutcome> {
  const { opened, session } = commanded;
  const pins = await opened.engine.sessions.pins.list(opened.caller, session.facts.id);
  const lines = pins.map(({ text }, index) => {
    const words = (text ?? "its text cannot be read").replaceAll(/\s+/g, " ");
    return `${index + 1}. ${words.length > 100 ? `${words.slice(0, 100).toWellFormed()}…` : words}`;
  });
  return await sendMessage(commanded, pins.length === 0 ? "Nothing is pinned." : `Pinned:\n\n${lines.join("\n")}`);
}

async function unpin(commanded: CommandContext, which: string): Promise<SessionCommandOutcome> {
  const { opened, session } = commanded;
  const { pins } = opened.engine.sessions;
  const all = await pins.list(opened.caller, session.facts.id);
  const chosen = which === "all" ? all : all.filter((_, index) => String(index + 1) === which);
  if (chosen.length === 0) return await sendMessage(commanded, "Add the number of the pin, as /pins shows it, or all.");
  for (const { id } of chosen) await pins.remove(opened.caller, session.facts.id, id);
  return await showPins(commanded);
}

async function title(commanded: CommandContext, name: string): Promise<SessionCommandOutcome> {
  if (name === "") return await sendMessage(commanded, "Add the name: /title <name>");
  const { opened, session } = commanded;
  const named = await opened.engine.sessions.update(opened.caller, session.facts.id, { name });
  session.name = named.name;
  const updatedAt = isoTime(named.updatedAt);
  await session.update({ sessionUpdate: "session_info_update", title: named.name, updatedAt });
  return { kind: "answered" };
}

async function sessionOf({ opened, session }: CommandContext): Promise<Session> {
  return await opened.engine.sessions.get(opened.caller, session.facts.id);
}

async function sendMessage({ session }: CommandContext, text: string): Promise<SessionCommandOutcome> {
  await session.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  return { kind: "answered" };
}

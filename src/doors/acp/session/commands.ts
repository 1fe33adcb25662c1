/** What a person can type in place of a prompt: a word to the session itself, not to the model. */
import type { AvailableCommand } from "@agentclientprotocol/sdk";
import { isoTime } from "../../../domain/ids.ts";
import type { Session } from "../../../domain/session.ts";
import type { TurnRequest } from "../../../engine/engine.ts";
import type { OpenSession } from "./open-session.ts";
import type { OpenedPorts } from "../ports.ts";

export const commands: AvailableCommand[] = [
  {
    name: "rerun",
    description: "Answer the last prompt again; the old answer is kept beside the new one",
    input: { hint: "another prompt to answer in its place" },
  },
  { name: "undo", description: "Go on from before the last prompt, as if it had not been" },
  {
    name: "fire",
    description: "Hand over the answers of subagents that wait in the mailbox",
    input: { hint: "what else to do with them" },
  },
  { name: "title", description: "Name this session", input: { hint: "the name" } },
];

/** `none`: the text is a prompt. `turn`: run this in its place. `answered`: there is nothing left to do. */
export type CommandOutcome = { kind: "none" } | { kind: "turn"; turn: TurnRequest } | { kind: "answered" };

interface Commanded {
  opened: OpenedPorts;
  session: OpenSession;
}

export async function runCommand(text: string, commanded: Commanded): Promise<CommandOutcome> {
  const [, name, rest = ""] = /^\/([a-z]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  switch (name) {
    case "rerun":
      return await rerun(commanded, rest.trim());
    case "undo":
      return await undo(commanded);
    case "fire":
      return await fire(commanded, rest.trim());
    case "title":
      return await title(commanded, rest.trim());
    default:
      return { kind: "none" };
  }
}

async function rerun(commanded: Commanded, instruction: string): Promise<CommandOutcome> {
  const { headTurnId } = await sessionOf(commanded);
  if (headTurnId === null) return await say(commanded, "There is no prompt in this session to answer again.");
  return { kind: "turn", turn: { rerun: { turnId: headTurnId }, instruction } };
}

async function undo(commanded: Commanded): Promise<CommandOutcome> {
  const { opened, session } = commanded;
  const { engine, caller } = opened;
  const { id, headTurnId } = await sessionOf(commanded);
  const head = headTurnId === null ? null : await engine.turns.get(caller, headTurnId);
  const before = head === null || head.parentId === null ? null : await engine.turns.get(caller, head.parentId);
  if (head === null || before?.sessionId !== id) {
    return await say(commanded, "There is nothing before the last prompt in this session to go back to.");
  }
  await engine.tree.moveHead(caller, { sessionId: id, from: head.id, to: before.id });
  session.seenTurnId = before.id;
  return await say(commanded, "The session goes on from before the last prompt. The files on disk are as they are.");
}

async function fire(commanded: Commanded, instruction: string): Promise<CommandOutcome> {
  const { opened, session } = commanded;
  const { id: sessionId } = session.facts;
  const { messages } = await opened.engine.sessions.mailbox(opened.caller, sessionId, { waiting: true, limit: 1 });
  if (messages.length === 0)
    return await say(commanded, "No subagent has ended since the mailbox was last handed over.");
  return { kind: "turn", turn: { sessionId, fire: true, instruction } };
}

async function title(commanded: Commanded, name: string): Promise<CommandOutcome> {
  if (name === "") return await say(commanded, "Give the name: /title <name>");
  const { opened, session } = commanded;
  const named = await opened.engine.sessions.update(opened.caller, session.facts.id, { name });
  session.name = named.name;
  const updatedAt = isoTime(named.updatedAt);
  await session.update({ sessionUpdate: "session_info_update", title: named.name, updatedAt });
  return { kind: "answered" };
}

async function sessionOf({ opened, session }: Commanded): Promise<Session> {
  return await opened.engine.sessions.get(opened.caller, session.facts.id);
}

async function say({ session }: Commanded, text: string): Promise<CommandOutcome> {
  await session.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  return { kind: "answered" };
}

/** Opens a session in a chat: shows how it ends, and settles what it left open. */
import type { WireSession } from "../../../client/client.ts";
import { newestSession, shortId } from "../lookup/find-by-id.ts";
import { firstLine } from "../output.ts";
import { localTime } from "../show/explain.ts";
import { cut } from "../terminal/cells.ts";
import { nothingSpent, type ChatState } from "./chat-state.ts";
import { showEarlierTurns } from "./earlier-turns.ts";
import { runChatTurn } from "./chat-turn.ts";
import { settleCalls } from "./settle-tool-calls.ts";
import { noteWaitingMessages } from "./subagent-notices.ts";

/** Drops the results of tools that ran here: in another session, no call waits for them. */
export function goTo(state: ChatState, sessionId: string | null, turnId: string | null): void {
  state.sessionId = sessionId;
  state.lastTurnId = turnId;
  state.unsent = [];
  state.compactsNext = false;
  if (sessionId === null) state.spent = { ...nothingSpent };
}

/** Shows a session that the chat continues, and settles the calls that it left open. */
export async function openInChat(state: ChatState, session: WireSession): Promise<void> {
  await showEarlierTurns(state, session);
  const head = session.headTurnId;
  if (head === null) return;
  await noteWaitingMessages(state, session.id);
  const { deferredCalls, model } = await state.client.turns.get(head);
  state.spent.model = model;
  if (deferredCalls.length === 0) return;
  const next = await settleCalls(state, deferredCalls, { isOld: true });
  if (next !== null) await runChatTurn(state, next);
}

/** Says which session about this repository could go on. A person who asked for a new one, or for the list, knows. */
export async function noteNewest({ call, client, options }: ChatState): Promise<void> {
  if (options.new === true || options.resume === true) return;
  const { repo, hasGit } = await call.copy();
  if (!hasGit && options.repo === undefined) return;
  const newest = await newestSession(client, options.repo ?? repo);
  if (newest === null || newest.turnCount === 0) return;
  const { output } = call;
  const name = cut(output.safeNote(firstLine(newest.name, 60)), 40);
  const at = localTime(newest.activeAt).slice(0, 16);
  const hint = `the newest session here is ${shortId(newest.id)} "${name}" of ${at}; /sessions opens it, and so does aptove chat --continue`;
  for (const line of output.rows([[hint]])) output.note(output.noteStyle.dim(line));
}

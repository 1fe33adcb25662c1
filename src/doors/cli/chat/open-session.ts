/** Opens a session in a chat: shows how it ends, and settles what it left open. */
import type { WireSession } from "../../../client/client.ts";
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

/** What a chat prints about subagents between its turns: that one has ended, and what waits in the mailbox (A1, A2). */
import type { AgUiEvent } from "../../../client/client.ts";
import { mailboxLine } from "../show/subagent-lines.ts";
import type { ChatState, SubagentWatch } from "./chat-state.ts";

export function newWatch(): SubagentWatch {
  return { shownEnds: new Set(), unreported: [], left: new AbortController() };
}

/** Records what an event of a shown turn reports about subagents. */
export function noteSubagentEvent(state: ChatState, event: AgUiEvent): void {
  if (event.type !== "CUSTOM") return;
  if (event.name === "aptove.subagent_ended") state.subagents.shownEnds.add(event.value.turnId);
  if (event.name === "aptove.subagent_started") void watch(state, event.value);
}

async function watch(state: ChatState, { turnId, name }: { turnId: string; name: string }): Promise<void> {
  const { shownEnds, unreported, left } = state.subagents;
  try {
    for await (const _event of state.client.events(turnId, { signal: left.signal }));
  } catch {
    // The person has left the chat, or its server has gone. The mailbox keeps the answer.
    return;
  }
  if (shownEnds.has(turnId)) return;
  unreported.push(name);
  if (state.running !== null) return;
  noteEndedSubagents(state);
  state.lines.prompt();
}

/** Prints which subagents have ended. Called between two turns. */
export function noteEndedSubagents({ call, subagents }: ChatState): void {
  const { output } = call;
  for (const name of subagents.unreported.splice(0)) {
    const line = `subagent "${output.safeNote(name)}" has ended; its answer waits in the mailbox: /fire sends it to the model`;
    output.note(output.noteStyle.dim(line));
  }
}

/** Prints what an earlier chat left in the mailbox of this session. */
export async function noteWaitingMessages({ client, call }: ChatState, sessionId: string): Promise<void> {
  const { messages, runningTurnIds } = await client.sessions.mailbox(sessionId, { waiting: true });
  const line = mailboxLine({ waiting: messages.length, running: runningTurnIds.length }, "/fire");
  if (line !== null) call.output.note(call.output.noteStyle.dim(line));
}

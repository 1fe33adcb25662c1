/** Finished turns on their way into the transcript of their workspace (W4). The turn does not wait for it. */
import type { HistoryItem } from "../../domain/history.ts";
import type { Session } from "../../domain/session.ts";
import type { TranscriptMessage } from "../../domain/transcript.ts";
import type { FinishedTurn } from "../../domain/turn.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { instructionOf } from "./request/envelope.ts";

/** Returns the messages of the user and of the model; tools and reasoning are left to the store. Neighbours of one side are one message. */
export function transcriptOf(items: readonly HistoryItem[]): TranscriptMessage[] {
  const messages: TranscriptMessage[] = [];
  const say = (role: TranscriptMessage["role"], text: string): void => {
    const last = messages.at(-1);
    if (text === "") return;
    if (last?.role === role) last.text += `\n\n${text}`;
    else messages.push({ role, text });
  };
  for (const item of items) {
    if (item.type === "user") say("user", instructionOf(item));
    if (item.type === "assistant") say("assistant", item.text);
  }
  return messages;
}

export interface TurnToTranscribe {
  turn: FinishedTurn;
  /** Null: the turn began a session of its own, made when the turn was. */
  session: Session | null;
  items: readonly HistoryItem[];
}

/** Writes the turn down some time soon, if it is of a workspace. */
export function transcribe(core: EngineCore, { turn, session, items }: TurnToTranscribe): void {
  const { workspaceId } = turn;
  if (workspaceId === null || turn.status === "failed") return;
  core.transcriber.add(workspaceId, {
    sessionId: turn.sessionId,
    turnId: turn.id,
    parentTurnId: turn.parentId,
    provider: turn.provider,
    model: turn.model,
    sessionCreatedAt: session?.createdAt ?? turn.createdAt,
    messages: transcriptOf(items),
    earlier: () => earlier(core, turn.parentId),
  });
}

async function earlier(
  core: EngineCore,
  turnId: string | null,
): Promise<{ turnId: string; messages: TranscriptMessage[] }[]> {
  const { entries } = await core.histories.state(turnId);
  return entries.map((entry) => ({ turnId: entry.turnId, messages: transcriptOf(entry.items) }));
}

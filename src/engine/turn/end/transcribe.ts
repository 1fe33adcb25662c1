/** Sends finished turns to the transcript of their workspace (W4). */
import { builtInBootPrompt } from "../../../domain/context.ts";
import type { HistoryItem } from "../../../domain/history.ts";
import type { Session } from "../../../domain/session.ts";
import type { TranscriptMessage } from "../../../domain/transcript.ts";
import { mayBeParent, type FinishedTurn } from "../../../domain/turn.ts";
import type { EngineCore } from "../live/engine-core.ts";
import { instructionOf } from "../request/envelope.ts";

/**
 * Returns the messages of the user and of the model. Tools and reasoning stay in the store. Consecutive messages of one
 * side are joined.
 */
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

/** Says how a turn failed, as the person reads it in the transcript. */
function endOf(turn: FinishedTurn): TranscriptMessage[] {
  if (turn.status !== "failed") return [];
  const [{ code, message }] = turn.failures;
  return [{ role: "system", text: `The turn failed: ${message} (${code})` }];
}

export interface TurnToTranscribe {
  turn: FinishedTurn;
  /** The session. Null if it was made together with the turn. */
  session: Session | null;
  items: readonly HistoryItem[];
  /** The boot prompt of the turn. One that is built in or empty is not written. */
  bootPrompt: string;
}

/** Gives the turn to the transcript, if it belongs to a workspace. It is written a moment later. */
export function transcribe(core: EngineCore, { turn, session, items, bootPrompt }: TurnToTranscribe): void {
  const { workspaceId } = turn;
  if (workspaceId === null) return;
  const isOwnPrompt = bootPrompt !== "" && bootPrompt !== builtInBootPrompt;
  core.transcriber.add(workspaceId, {
    sessionId: turn.sessionId,
    turnId: turn.id,
    parentTurnId: turn.parentId,
    provider: turn.provider,
    model: turn.model,
    sessionCreatedAt: session?.createdAt ?? turn.createdAt,
    messages: [...transcriptOf(items), ...endOf(turn)],
    ...(isOwnPrompt && { prompt: bootPrompt }),
    ...(!mayBeParent(turn) && { isNoParent: true }),
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

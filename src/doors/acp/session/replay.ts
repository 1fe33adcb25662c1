/** Replays finished turns in the form in which they were streamed, for `session/load` and for turns that other doors added meanwhile (P4). */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { PartRef } from "../../../domain/input-part.ts";
import { limits } from "../../../domain/limits.ts";
import type { ToolFeedback } from "../../../domain/tool.ts";
import type { Turn } from "../../../domain/turn.ts";
import type { Usage } from "../../../domain/usage.ts";
import type { RunningNow, TurnReader } from "../../../engine/engine.ts";
import type { AcpClient } from "../client/acp-client.ts";
import type { OpenedPorts } from "../ports.ts";
import { shownInstruction } from "./prompt-replay.ts";
import { joined } from "./joined-events.ts";
import { announced } from "./subagent-updates.ts";
import { closeWaiting, textContent, TurnUpdates, type WaitingCalls } from "./turn-updates.ts";

/**
 * Returns the finished turns to show for a session, oldest first: those that the running turn continues from, or else those
 * that its next turn continues from. If there are none, because every turn failed, it returns the failed ones. No turn continues
 * from them, but they have the user's instructions and the answers so far (T12).
 */
export async function shownTurns(
  { engine, caller }: Pick<OpenedPorts, "engine" | "caller">,
  { id, headTurnId }: { id: string; headTurnId: string | null },
  running: RunningNow | null,
): Promise<Turn[]> {
  const newest = running === null ? headTurnId : running.turn.parentId;
  if (newest !== null) return await engine.turns.lineage(caller, newest);
  const turns = await engine.turns.list(caller, id, { limit: limits.pageSizeMax, kind: "agent" });
  return turns.filter(({ status }) => status !== "pending").toReversed();
}

export interface ReplayOptions {
  turns: readonly Turn[];
  /** The session's first folder. */
  folder: string;
  client: Pick<AcpClient, "showsCompactions" | "takesSubagents">;
  /** Receives the calls that the last turn leaves open. */
  waiting: WaitingCalls;
  signal: AbortSignal;
  /** Called with the usage of each model call of a turn. The last call counts. */
  onUsage(usage: Usage, turn: Turn): void;
}

/** Yields the updates of the turns. They are read lazily, so that a long conversation is never in memory as a whole. */
export async function* replay(
  { engine, caller }: Pick<OpenedPorts, "engine" | "caller">,
  { turns, folder, client, waiting, signal, onUsage }: ReplayOptions,
): AsyncGenerator<SessionUpdate> {
  for (const turn of turns) {
    yield* beginningOf(await engine.turns.read(caller, turn.id), { folder, waiting });
    const stillWaiting = new Set(waiting.keys());
    const usage = (step: Usage): [] => {
      onUsage(step, turn);
      return [];
    };
    const updates = new TurnUpdates({
      turnId: turn.id,
      waiting,
      showsCompactions: client.showsCompactions,
      usage,
      live: null,
    });
    for await (const { event } of joined(await engine.turns.events(caller, turn.id, { afterSeq: 0, signal }))) {
      if (event.type === "subagent_started" && client.takesSubagents) yield announced(event, null);
      yield* updates.of(event);
    }
    yield* closeWaiting(taken(waiting, stillWaiting));
  }
}

/** Yields what the user gave to a turn: the instruction, and the results of calls that waited. */
export async function* beginningOf(
  reader: TurnReader,
  { folder, waiting }: Pick<ReplayOptions, "folder" | "waiting">,
): AsyncGenerator<SessionUpdate> {
  yield* shownInstruction(reader, folder);
  for (const answer of await reader.toolResults()) yield* answered(answer, waiting);
}

/** Moves these calls out of the ones that wait. */
export function taken(waiting: WaitingCalls, callIds: ReadonlySet<string>): WaitingCalls {
  const out: WaitingCalls = new Map();
  for (const callId of callIds) {
    const id = waiting.get(callId);
    if (id !== undefined) out.set(callId, id);
    waiting.delete(callId);
  }
  return out;
}

/** Yields the result that a turn brought for a call of the turn before it (T9). An allowed call is skipped: it gets its result when it runs. */
function* answered(answer: ToolFeedback<PartRef>, waiting: WaitingCalls): Generator<SessionUpdate> {
  const id = waiting.get(answer.callId);
  if (id === undefined || ("approved" in answer && answer.approved)) return;
  waiting.delete(answer.callId);
  const isError = "approved" in answer || answer.isError;
  const output =
    "approved" in answer ? `denied: ${answer.reason ?? "the user did not allow this call"}` : answer.output;
  yield {
    sessionUpdate: "tool_call_update",
    toolCallId: id,
    status: isError ? "failed" : "completed",
    content: [textContent(output)],
    rawOutput: output,
  };
}

/**
 * Imports a conversation that took place elsewhere, as one finished turn of a new session (W5). No model is called. The
 * messages are in the history and in the events, as in any turn, so the turn can be continued, replayed and searched.
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { HistoryItem } from "../../domain/history.ts";
import { newId } from "../../domain/ids.ts";
import { emptyState } from "../../domain/lineage.ts";
import type { Session } from "../../domain/session.ts";
import type { TranscribedTurn, TranscriptMessage } from "../../domain/transcript.ts";
import type { FinishedTurn } from "../../domain/turn.ts";
import { acceptRequest } from "./prepare/accept.ts";
import type { AcceptedRequest } from "./prepare/accepted-request.ts";
import { noClientTools } from "./prepare/client-tools.ts";
import { noModel } from "./prepare/no-model.ts";
import { placeInput } from "./kept/kept-parts.ts";
import type { EngineCore } from "./live/engine-core.ts";
import type { SessionStart, TurnRequest } from "../engine.ts";
import { openTurn } from "./open-turn.ts";
import { newRoot } from "./prepare/turn-placement.ts";
import { bareManifest, gatheredContext } from "./prepare/turn-manifest.ts";
import { userMessage } from "./request/envelope.ts";
import type { RunRecorder } from "./live/run-recorder.ts";
import { visibleSession } from "../access/visible.ts";
import { settleTurn } from "./end/settle-turn.ts";
import { transcriptOf } from "./end/transcribe.ts";
import type { TurnPlan } from "./prepare/turn-plan.ts";
import type { OpenedTurn } from "./live/turn-stages.ts";

export interface ImportedConversation {
  session: Session;
  transcribed: TranscribedTurn;
}

type ConversationStart = SessionStart & { messages: readonly TranscriptMessage[] };

/** Imports the conversation. Throws `instruction_empty` if it has no message, and what opening a turn throws. */
export async function importConversation(
  core: EngineCore,
  caller: Caller,
  { messages, ...start }: ConversationStart,
): Promise<ImportedConversation> {
  const [first, ...rest] = beginningWithUser(messages.filter(({ text }) => text.trim() !== ""));
  if (first === undefined) throw new AptoveError("instruction_empty", "the conversation has no message");
  const request = requestOf(start, first.text);
  const { subagentTools, deps } = core;
  const none = { inherited: new Map(), clientTools: noClientTools, keptRules: null };
  const known = { caller, request, session: null, subagentTools, ...none };
  const accepted: AcceptedRequest = { ...(await acceptRequest(deps, known)), ...noModel };
  const turnId = newId();
  const live = core.live.begin({ turnId, sessionId: turnId, visibleBy: turnId, startedBy: caller.userId });
  try {
    const plan = planOf(turnId, accepted);
    const prepared = { plan, warnings: [] };
    const closed = { results: [], approved: [], passedBudgets: [], deniedPass: null, unanswered: 0 };
    const result = await openTurn(core, { live, place: newRoot, request, accepted, closed, prepared });
    if ("repeats" in result) throw new AptoveError("internal", "an import has no idempotency key");
    const turn = await recordAndSettle(core, result.opened, { plan, rest });
    if (turn.status === "failed") throw new AptoveError(turn.failures[0].code, turn.failures[0].message);
    const session = await visibleSession(deps, caller, turnId);
    const items = [...plan.newItems, ...result.opened.recorder.items];
    return { session, transcribed: transcribedTurn(turn, session, items) };
  } finally {
    core.live.end(live);
  }
}

function requestOf(start: SessionStart, instruction: string): TurnRequest {
  const { workspaceId, repo, otherRepos, agentContextId, conversationContextId, model, settings, ...session } = start;
  return {
    instruction,
    session,
    ...(workspaceId !== undefined && { workspaceId }),
    ...(repo !== undefined && { repo }),
    ...(otherRepos !== undefined && { otherRepos: otherRepos.map((name) => ({ repo: name })) }),
    ...(agentContextId !== undefined && { agentContextId }),
    ...(conversationContextId !== undefined && { conversationContextId }),
    ...(model !== undefined && { model }),
    ...(settings !== undefined && { settings }),
  };
}

interface ConversationRun {
  plan: TurnPlan;
  /** The messages after the first one. */
  rest: readonly TranscriptMessage[];
}

async function recordAndSettle(
  core: EngineCore,
  opened: OpenedTurn,
  { plan, rest }: ConversationRun,
): Promise<FinishedTurn> {
  const { live, recorder } = opened;
  live.run(opened);
  recordConversation(recorder, { sessionId: live.sessionId, plan, rest });
  const answer = { ended: "answered", stopReason: "stop", responseId: null, step: 0 } as const;
  const outcome = { plan, answer, deferredCalls: [], isTranscribed: true };
  const { turn, logDropped } = await settleTurn(core, { ...opened, ...outcome });
  live.finish(turn);
  await logDropped;
  return turn;
}

function transcribedTurn(turn: FinishedTurn, session: Session, items: readonly HistoryItem[]): TranscribedTurn {
  return {
    sessionId: session.id,
    turnId: turn.id,
    parentTurnId: null,
    provider: turn.provider,
    model: turn.model,
    sessionCreatedAt: session.createdAt,
    messages: transcriptOf(items),
    earlier: async () => [],
  };
}

/** Returns messages that begin with one of the user: the wire format of every provider requires that. */
function beginningWithUser(messages: readonly TranscriptMessage[]): TranscriptMessage[] {
  const [first] = messages;
  if (first === undefined || first.role !== "assistant") return [...messages];
  return [{ role: "user", text: "(The conversation begins here.)" }, ...messages];
}

function planOf(turnId: string, accepted: AcceptedRequest): TurnPlan {
  const message = userMessage(accepted.mode.id, accepted.instruction, null);
  return {
    turnId,
    accepted,
    state: emptyState,
    visible: emptyState,
    summary: null,
    isTooLong: false,
    waiting: [],
    newItems: [message],
    message: message.parts,
    input: placeInput(turnId, emptyState, []),
    sent: { chunks: [], files: [] },
    manifest: bareManifest(turnId, accepted),
    approved: [],
    decision: null,
    first: null,
    base: null,
  };
}

interface ConversationToRecord {
  sessionId: string;
  plan: TurnPlan;
  rest: readonly TranscriptMessage[];
}

function recordConversation(recorder: RunRecorder, { sessionId, plan, rest }: ConversationToRecord): void {
  recorder.emit({ type: "run_started", sessionId, turnId: plan.turnId, parentTurnId: null });
  recorder.emit({ type: "context", context: gatheredContext(plan.manifest) });
  for (const [index, { role, text }] of rest.entries()) {
    recorder.items.push(itemOf(plan, { role, text }));
    if (role === "assistant") {
      recorder.textDelta(`message-${index}`, text);
      recorder.end(`message-${index}`);
    } else {
      recorder.emit({ type: "steered", text });
    }
  }
}

function itemOf({ accepted }: TurnPlan, { role, text }: TranscriptMessage): HistoryItem {
  // A system message that a person wrote into a file has no more weight than their other messages.
  return role === "assistant" ? { type: "assistant", text } : userMessage(accepted.mode.id, text, null);
}

/**
 * A conversation that took place elsewhere, as one finished turn of a new session (W5). No model is called; its
 * messages are in the history and in the events like those of any turn, so it is continued, replayed and searched like one.
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { HistoryItem } from "../../domain/history.ts";
import { newId } from "../../domain/ids.ts";
import { emptyState } from "../../domain/lineage.ts";
import type { Session } from "../../domain/session.ts";
import type { TranscribedTurn, TranscriptMessage } from "../../domain/transcript.ts";
import type { Provider } from "../../providers/provider.ts";
import { acceptRequest } from "./prepare/accept.ts";
import type { AcceptedRequest } from "./prepare/accepted-request.ts";
import { noProvider } from "./prepare/chain.ts";
import { placeInput } from "./kept/kept-parts.ts";
import type { EngineCore } from "./live/engine-core.ts";
import type { SessionStart } from "../engine.ts";
import { openTurn } from "./open-turn.ts";
import { newRoot } from "./place-turn.ts";
import { bareManifest, gatheredContext } from "./prepare/plan-turn.ts";
import { userMessage } from "./request/envelope.ts";
import type { RunRecorder } from "./live/run-recorder.ts";
import { visibleSession } from "../access/visible.ts";
import { settleTurn } from "./settle-turn.ts";
import { transcriptOf } from "./transcribe.ts";
import type { TurnPlan } from "./prepare/turn-plan.ts";

export interface ImportedConversation {
  session: Session;
  transcribed: TranscribedTurn;
}

export async function importConversation(
  core: EngineCore,
  caller: Caller,
  { messages, ...start }: SessionStart & { messages: readonly TranscriptMessage[] },
): Promise<ImportedConversation> {
  const spoken = messages.filter(({ text }) => text.trim() !== "");
  const [first, ...rest] = beginningWithUser(spoken);
  if (first === undefined) throw new AptoveError("instruction_empty", "the conversation has no message");
  const { workspaceId, repo, agentContextId, conversationContextId, ...session } = start;
  const request = {
    instruction: first.text,
    session,
    ...(workspaceId !== undefined && { workspaceId }),
    ...(repo !== undefined && { repo }),
    ...(agentContextId !== undefined && { agentContextId }),
    ...(conversationContextId !== undefined && { conversationContextId }),
  };
  const { subagentTools } = core;
  const asked = await acceptRequest(core.deps, {
    caller,
    request,
    session: null,
    subagentTools,
    inherited: new Map(),
  });
  const accepted: AcceptedRequest = { ...asked, provider: noModel, model: "" };
  const turnId = newId();
  const live = core.live.begin({ turnId, sessionId: turnId, visibleBy: turnId, startedBy: caller.userId });
  try {
    const plan = planOf(turnId, accepted);
    const result = await openTurn(core, { live, place: newRoot, request, accepted, prepared: { plan, warnings: [] } });
    if ("repeats" in result) throw new AptoveError("internal", "an import has no idempotency key");
    const { opened } = result;
    const { recorder } = opened;
    live.run(opened);
    recordConversation(recorder, { sessionId: turnId, plan, rest });
    const answer = { ended: "answered", stopReason: "stop", responseId: null, step: 0 } as const;
    const outcome = { plan, answer, deferredCalls: [], isTranscribed: true };
    const { turn, logDropped } = await settleTurn(core, { ...opened, ...outcome });
    live.finish(turn);
    await logDropped;
    if (turn.status === "failed") throw new AptoveError(turn.failures[0].code, turn.failures[0].message);
    const imported = await visibleSession(core.deps, caller, turnId);
    return {
      session: imported,
      transcribed: {
        sessionId: turnId,
        turnId,
        parentTurnId: null,
        provider: turn.provider,
        model: turn.model,
        sessionCreatedAt: imported.createdAt,
        messages: transcriptOf([...plan.newItems, ...recorder.items]),
        earlier: async () => [],
      },
    };
  } finally {
    core.live.end(live);
  }
}

/** A history begins with the person, on every provider's wire. */
function beginningWithUser(messages: readonly TranscriptMessage[]): TranscriptMessage[] {
  const [first] = messages;
  if (first === undefined || first.role !== "assistant") return [...messages];
  return [{ role: "user", text: "(The conversation begins here.)" }, ...messages];
}

/** The provider of the turn in the records: no model was called for it. */
const noModel: Provider = {
  name: noProvider,
  account: "",
  defaultModel: "",
  remembers: false,
  prepare: () => ({ model: "", body: "", dropped: [] }),
  send: async function* () {},
};

function planOf(turnId: string, accepted: AcceptedRequest): TurnPlan {
  const message = userMessage(accepted.mode.id, accepted.instruction, null);
  return {
    turnId,
    accepted,
    state: emptyState,
    visible: emptyState,
    summary: null,
    isTooLong: false,
    newItems: [message],
    message: message.parts,
    input: placeInput(turnId, emptyState, []),
    sent: { chunks: [], files: [] },
    manifest: bareManifest(accepted),
    approved: [],
    decision: null,
    first: null,
    base: null,
  };
}

interface Telling {
  sessionId: string;
  plan: TurnPlan;
  rest: readonly TranscriptMessage[];
}

function recordConversation(recorder: RunRecorder, { sessionId, plan, rest }: Telling): void {
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
  // A system message that a person wrote into a file has no more weight than what else the person says.
  return role === "assistant" ? { type: "assistant", text } : userMessage(accepted.mode.id, text, null);
}

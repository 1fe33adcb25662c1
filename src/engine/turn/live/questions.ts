/**
 * Lists and answers the questions of running turns (V5), and those of clients about their own tools (client-questions.ts). The events of a turn tell which of its questions are open, so they
 * are known in every process. The answer goes to the process that runs the turn, in the way of a steering message (R3).
 */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { TurnEvent } from "../../../domain/events.ts";
import { idOf } from "../../../domain/ids.ts";
import type { ToolPermission } from "../../../domain/tool.ts";
import type { PendingTurn, Turn } from "../../../domain/turn.ts";
import { wakeTopics } from "../../../live/wake-ups.ts";
import { isRecord } from "../../../system/guards.ts";
import { allowAlways, alwaysOffer, clientAlwaysOffer, mayAlways } from "../../access/permanent.ts";
import { continuableSession, mayWrite, visibleSession, visibleTurn } from "../../access/visible.ts";
import type { ApprovalAnswer, OpenQuestion, RunningNow } from "../../engine.ts";
import { answerClientQuestion, clientQuestionsOf } from "./client-questions.ts";
import type { EngineCore } from "./engine-core.ts";

/** Returns the running turn of the session's agent. Waits for one that is being prepared in this process. */
export async function runningNow(core: EngineCore, caller: Caller, sessionId: string): Promise<RunningNow | null> {
  await visibleSession(core.deps, caller, sessionId);
  const here = core.live.ofSession(sessionId);
  await here?.until(() => here.state.name !== "preparing");
  const turn = await core.deps.records.turns.findPending(sessionId);
  if (turn === null) return null;
  return { turn, seq: (await core.deps.log.read(turn.id, 0))?.length ?? 0 };
}

/** Returns the open questions of a turn, in the order of their calls. */
export async function openQuestions(core: EngineCore, caller: Caller, turnId: string): Promise<OpenQuestion[]> {
  const turn = await visibleTurn(core.deps, caller, turnId);
  return turn.status === "pending" ? await questionsOf(core, turn) : await clientQuestionsOf(core.deps, turn);
}

/** Answers a question. Throws `question_not_open`, `not_found`, `forbidden`. */
export async function answerQuestion(
  core: EngineCore,
  caller: Caller,
  { turnId, callId, ...given }: { turnId: string; callId: string } & ApprovalAnswer,
): Promise<void> {
  mayWrite(caller);
  const turn = await visibleTurn(core.deps, caller, turnId);
  const { workspaceId } = await continuableSession(core.deps, caller, turn.sessionId);
  const answer: ApprovalAnswer = given.approved ? { approved: true } : given;
  const isAlways = given.approved && given.always === true;
  const permission = isAlways ? await checkedPermission(core, caller, { turn, callId, workspaceId }) : null;
  const isTaken =
    turn.status === "pending"
      ? (core.live.get(turnId)?.questions.answer(callId, answer) ??
        (await sendAnswer(core, caller, { turn, callId, answer })))
      : await answerClientQuestion(core.deps, turn, {
          callId,
          answer: isAlways ? { ...answer, always: true } : answer,
        });
  // An answer that came too late allows nothing.
  if (isTaken) return await allowAlways(core.deps, { workspaceId, permission });
  const detail = `turn ${turnId} has no open question about the call ${JSON.stringify(callId)}; another answer may have come first`;
  throw new AptoveError("question_not_open", detail);
}

/** Returns what is to be stored with an answer that allows such calls permanently: null for a client, which keeps it itself. Throws `forbidden`. */
async function checkedPermission(
  core: EngineCore,
  caller: Caller,
  { turn, callId, workspaceId }: { turn: Turn; callId: string; workspaceId: string | null },
): Promise<ToolPermission | null> {
  const open = turn.status === "pending" ? await questionsOf(core, turn) : await clientQuestionsOf(core.deps, turn);
  const view = open.find((question) => question.callId === callId)?.view;
  // Whether the question is open is decided when it is answered.
  if (view === undefined) return null;
  const permission = turn.status === "pending" ? view.permission : null;
  mayAlways(
    turn.status === "pending"
      ? await alwaysOffer(core.deps, caller, { workspaceId, permission })
      : clientAlwaysOffer(caller, turn, view),
  );
  return permission;
}

/** Takes the answer that another process sent. An answer that comes too late changes nothing: the first one counts. */
export function takeAnswer(core: EngineCore, { turnId, text }: { turnId: string; text: string }): void {
  const { callId, answer } = JSON.parse(text) as { callId: string; answer: ApprovalAnswer };
  core.live.get(turnId)?.questions.answer(callId, answer);
}

async function sendAnswer(
  core: EngineCore,
  caller: Caller,
  { turn, callId, answer }: { turn: PendingTurn; callId: string; answer: ApprovalAnswer },
): Promise<boolean> {
  const { deps } = core;
  const open = await questionsOf(core, turn);
  if (!open.some((question) => question.callId === callId)) return false;
  const text = JSON.stringify({ callId, answer });
  const control = {
    // Of the answers of several processes, the store takes the first one.
    id: idOf(`answer\n${turn.id}\n${callId}`),
    turnId: turn.id,
    kind: "answer" as const,
    text,
    userId: caller.userId,
    at: deps.now(),
  };
  const isTaken = await deps.records.runners.insertControl(control);
  if (isTaken) deps.wakeUps?.send(wakeTopics.controls(turn.runnerId));
  return isTaken;
}

export async function questionsOf({ deps }: EngineCore, { id }: PendingTurn): Promise<OpenQuestion[]> {
  const events = (await deps.log.read(id, 0)) ?? [];
  return openQuestionsIn(events.map(({ event }) => event));
}

interface SeenCall {
  name: string;
  args: string;
}

/** Returns the questions that are open after these events of a turn. */
function openQuestionsIn(events: readonly TurnEvent[]): OpenQuestion[] {
  const calls = new Map<string, SeenCall>();
  const open = new Map<string, OpenQuestion>();
  for (const event of events) {
    switch (event.type) {
      case "tool_call_started":
        calls.set(event.callId, { name: event.name, args: "" });
        break;
      case "tool_call_delta":
        calls.set(event.callId, withMore(calls.get(event.callId), event.delta));
        break;
      case "tool_call_view": {
        const { name, args } = calls.get(event.callId) ?? { name: "", args: "" };
        const question = { callId: event.callId, name, args: parsed(args), view: event.view };
        if (event.asks === true) open.set(event.callId, question);
        break;
      }
      case "approval_answered":
      case "tool_result":
        open.delete(event.callId);
        break;
      default:
    }
  }
  return [...open.values()];
}

function withMore(call: SeenCall | undefined, delta: string): SeenCall {
  return { name: call?.name ?? "", args: `${call?.args ?? ""}${delta}` };
}

function parsed(args: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(args);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

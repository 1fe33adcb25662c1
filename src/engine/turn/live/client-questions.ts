/**
 * Questions that a client asks about calls of its own tools (V5). Their turn has ended and waits for the results, so the records
 * hold the question while the client keeps it open, and any client that may continue the session can answer.
 */
import type { Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import type { DeferredCall } from "../../../domain/tool.ts";
import type { Turn } from "../../../domain/turn.ts";
import { parsedArguments } from "../../../domain/tool-arguments.ts";
import type { ClientAnswer, ClientQuestion } from "../../../records/questions.ts";
import { continuableSession, mayWrite, visibleTurn } from "../../access/visible.ts";
import { BoundedCache } from "../../../system/bounded-cache.ts";
import type { EngineCore } from "./engine-core.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import type { OpenQuestion } from "../../engine.ts";

/** The askers whose question was announced. Their renewals change nothing that another client shows. */
const announced = new WeakMap<EngineCore, BoundedCache<true>>();
const askersKept = 1_000;

/** Opens the question or keeps it open. Throws `question_not_open`, `request_invalid`, `not_found`, `forbidden`. */
export async function askClientQuestion(
  core: EngineCore,
  caller: Caller,
  question: ClientQuestion,
): Promise<ClientAnswer | null> {
  const { deps } = core;
  const turn = await continuableTurn(deps, caller, question.turnId);
  if (!clientCalls(turn).some(({ callId }) => callId === question.callId)) {
    const detail = `turn ${turn.id} leaves no call ${JSON.stringify(question.callId)} to its client`;
    throw new AptoveError("question_not_open", detail);
  }
  if (Buffer.byteLength(JSON.stringify(question.view)) > limits.questionBytesMax) {
    const detail = `the view has more than ${limits.questionBytesMax} bytes; only its own client can show it`;
    throw new AptoveError("request_invalid", detail);
  }
  const answer = await deps.records.questions.ask({ ...question, leaseMs: limits.questionLeaseMs });
  const known = announced.get(core) ?? new BoundedCache(askersKept);
  announced.set(core, known);
  if (known.get(question.askerId) === undefined) core.changes.changed(caller.orgId);
  known.set(question.askerId, true, 1);
  return answer;
}

export async function withdrawClientQuestion(
  deps: EngineDependencies,
  caller: Caller,
  question: Pick<ClientQuestion, "turnId" | "callId" | "askerId">,
): Promise<void> {
  await continuableTurn(deps, caller, question.turnId);
  await deps.records.questions.withdraw(question);
}

async function continuableTurn(deps: EngineDependencies, caller: Caller, turnId: string): Promise<Turn> {
  mayWrite(caller);
  const turn = await visibleTurn(deps, caller, turnId);
  await continuableSession(deps, caller, turn.sessionId);
  return turn;
}

/** Returns the open questions of a turn that waits for its client. */
export async function clientQuestionsOf({ records }: EngineDependencies, turn: Turn): Promise<OpenQuestion[]> {
  const calls = new Map(clientCalls(turn).map((call) => [call.callId, call]));
  if (calls.size === 0) return [];
  const open = await records.questions.listOpen(turn.id);
  return open.flatMap(({ callId, view }) => {
    const call = calls.get(callId);
    return call === undefined ? [] : [{ callId, name: call.name, args: parsedArguments(call.arguments), view }];
  });
}

export async function answerClientQuestion(
  { records }: EngineDependencies,
  turn: Turn,
  { callId, answer }: { callId: string; answer: ClientAnswer },
): Promise<boolean> {
  if (clientCalls(turn).length === 0) return false;
  return await records.questions.answer({ turnId: turn.id, callId, answer, keptMs: limits.questionAnswerMs });
}

function clientCalls(turn: Turn): DeferredCall[] {
  if (turn.status !== "awaiting_tool_results") return [];
  return turn.deferredCalls.filter(({ waitsFor }) => waitsFor === "client");
}

/** Finds out whether a call may run: by what is allowed already, else by asking (V5, P4). */
import { AptoveError, failureOf } from "../../../domain/errors.ts";
import type { ToolCallItem } from "../../../domain/history.ts";
import type { ToolCallView } from "../../../domain/tool.ts";
import { unlessAborted } from "../../../system/abort.ts";
import { isRecord } from "../../../system/guards.ts";
import type { ToolResult } from "../../../tools/tool.ts";
import type { EngineCore } from "../live/engine-core.ts";
import type { ApprovalAnswer, ApprovalQuestion } from "../../engine.ts";
import type { ModelRun } from "./model-run.ts";

export interface QuestionedCall {
  call: ToolCallItem;
  args: Record<string, unknown>;
  view: ToolCallView;
}

/**
 * Shows the call, and asks if it is not decided already. Returns null if the call may run, else the result that states the
 * denial. Rejects if the turn is stopped.
 */
export async function permitted(core: EngineCore, run: ModelRun, asked: QuestionedCall): Promise<ToolResult | null> {
  const { recorder, live, plan } = run;
  const { callId, name } = asked.call;
  const { args, view } = asked;
  const answered = new AbortController();
  const signal = AbortSignal.any([live.signal, answered.signal]);
  const { sessionId } = live;
  const question: ApprovalQuestion = { sessionId, turnId: plan.turnId, callId, name, args, view, signal };
  const given = await unlessAborted(plan.accepted.decideApproval?.(question) ?? null, live.signal);
  const decided = checkedAnswer("decideApproval", given);
  if (decided !== null) {
    recorder.emit({ type: "tool_call_view", callId, view });
    return resultOf(decided);
  }
  try {
    const answer = await unlessAborted(ask(core, run, question), live.signal);
    recorder.emit({ type: "approval_answered", callId, approved: answer.approved });
    announce(core, run);
    return resultOf(answer);
  } finally {
    live.questions.close(callId);
    answered.abort();
  }
}

/** Opens the question before it is shown, so that a client that sees it can answer it. Resolves with the first answer. */
async function ask(core: EngineCore, run: ModelRun, question: ApprovalQuestion): Promise<ApprovalAnswer> {
  const { recorder, live, plan } = run;
  const { callId, view } = question;
  const first = live.questions.open(callId);
  recorder.emit({ type: "tool_call_view", callId, view, asks: true });
  announce(core, run);
  const { askApproval } = plan.accepted;
  if (askApproval === null) return await first;
  const answer = (given: ApprovalAnswer | null): void => {
    if (given !== null) live.questions.answer(callId, given);
  };
  // The function may be written in JavaScript.
  Promise.try(async () => checkedAnswer("askApproval", await askApproval(question))).then(answer, (error: unknown) => {
    core.deps.report(`a person could not be asked about the call of "${question.name}"`, error);
    answer({ approved: false, reason: failureOf(error).message });
  });
  return await first;
}

/** Throws `internal` if that is no answer. */
function checkedAnswer(name: string, given: ApprovalAnswer | null): ApprovalAnswer | null {
  if (given === null || (isRecord(given) && typeof given.approved === "boolean")) return given;
  const contract = "it returns `approved`, true or false, or null";
  throw new AptoveError("internal", `the function \`${name}\` breaks its contract: ${contract}`);
}

/** The events say which questions are open, so they must be readable first. */
function announce({ changes }: EngineCore, { recorder, plan }: ModelRun): void {
  void recorder.flushed().then(() => changes.changed(plan.accepted.caller.orgId));
}

function resultOf(answer: ApprovalAnswer): ToolResult | null {
  if (answer.approved) return null;
  return { output: `denied: ${answer.reason ?? "the user did not allow this call"}`, isError: true };
}

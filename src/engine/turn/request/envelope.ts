/**
 * The user message (E2), the same for every door (E7). Its first part holds the mode and the instruction. The mailbox
 * block and the context block follow if there are any.
 */
import { AptoveError } from "../../../domain/errors.ts";
import type { ToolCallItem, ToolResultItem, UserItem } from "../../../domain/history.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import { limits } from "../../../domain/limits.ts";
import type { DeferredCall, ToolFeedback } from "../../../domain/tool.ts";
import { parsedArguments } from "../../../domain/tool-arguments.ts";
import type { Turn } from "../../../domain/turn.ts";

export function userMessage(mode: string, instruction: string, ...blocks: (string | null)[]): UserItem {
  const first = `[MODE: ${mode}]\n\n[INSTRUCTION]\n${instruction}`;
  return { type: "user", parts: [first, ...blocks.filter((block) => block !== null)] };
}

/** Returns the instruction of a user message, as the person wrote it. Empty if the message has only context. */
export function instructionOf({ parts: [first = ""] }: UserItem): string {
  const header = /^\[MODE: [^\]\n]*\]\n\n\[INSTRUCTION\]\n/.exec(first);
  return header === null ? "" : first.slice(header[0].length);
}

/** Throws if no model can receive the instruction: it is empty, or `checkText` refuses it. */
export function checkInstruction(instruction: string, mayBeEmpty: boolean): void {
  if (instruction.trim() === "") {
    if (mayBeEmpty && instruction === "") return;
    throw new AptoveError("instruction_empty", "write what the model is to do");
  }
  checkText(instruction);
}

/** Throws if no model can receive the text: it contains a NUL or half a surrogate pair, or exceeds the limit. */
export function checkText(instruction: string): void {
  if (!instruction.isWellFormed()) {
    throw new AptoveError(
      "instruction_not_text",
      "the instruction contains half of a surrogate pair; send valid Unicode",
    );
  }
  const nulAt = instruction.indexOf("\u0000");
  if (nulAt !== -1) {
    throw new AptoveError(
      "instruction_not_text",
      `the instruction contains a NUL at character ${nulAt}; send it as a file instead`,
    );
  }
  const bytes = Buffer.byteLength(instruction);
  if (bytes > limits.instructionBytesMax) {
    throw new AptoveError(
      "instruction_too_large",
      `the instruction has ${bytes} bytes; the limit is ${limits.instructionBytesMax}; send long texts as active files`,
    );
  }
}

export interface ClosedCalls {
  results: ToolResultItem[];
  /** The calls that were allowed. They run before the model is called. */
  approved: ToolCallItem[];
  /** The budgets that the caller let the next call of the model pass (F11). */
  passedBudgets: string[];
  /** Why that call could pass a budget, if the caller did not let it. Null: the caller denied no such call. */
  deniedPass: string | null;
  /** The number of calls that were closed without an answer of the caller. */
  unanswered: number;
}

/** Answers the calls that the parent waits for (T8, T9). Throws `tool_feedback_invalid`. */
export function answerOpenCalls(parent: Turn | null, feedback: readonly ToolFeedback<PartRef>[]): ClosedCalls {
  return closeCalls(parent?.status === "awaiting_tool_results" ? parent.deferredCalls : [], feedback);
}

/**
 * Answers every open call (T8, T9): with the caller's result, or with one that states that there is none.
 * Throws `tool_feedback_invalid`, which lists all answers to calls that do not wait, and all calls that were answered
 * twice.
 */
export function closeCalls(open: readonly DeferredCall[], feedback: readonly ToolFeedback<PartRef>[]): ClosedCalls {
  const waiting = new Map(open.map((call) => [call.callId, call]));
  const given = new Map<string, ToolFeedback<PartRef>>();
  const faults: string[] = [];
  for (const answer of feedback) {
    const call = waiting.get(answer.callId);
    if (call === undefined) faults.push(`"${answer.callId}" does not wait for a result`);
    else if (given.has(answer.callId)) faults.push(`"${answer.callId}" is answered twice`);
    else if ("approved" in answer !== (call.waitsFor === "approval")) {
      faults.push(
        `"${answer.callId}" waits for ${call.waitsFor === "approval" ? "an approval or denial" : "a result"}`,
      );
    }
    given.set(answer.callId, answer);
  }
  if (faults.length > 0) {
    throw new AptoveError("tool_feedback_invalid", faults.join("; "), {
      facts: { faults, waiting: [...waiting.keys()] },
    });
  }
  const isApproved = ({ callId }: DeferredCall): boolean => {
    const answer = given.get(callId);
    return answer !== undefined && "approved" in answer && answer.approved;
  };
  const ofTools = open.filter(({ budgetIds }) => budgetIds === undefined);
  const ofBudgets = open.filter(({ callId, budgetIds }) => budgetIds !== undefined && given.has(callId));
  const denied = ofBudgets.find((call) => !isApproved(call));
  return {
    results: ofTools.filter((call) => !isApproved(call)).map((call) => resultItem(call, given.get(call.callId))),
    approved: ofTools
      .filter(isApproved)
      .map(({ callId, name, arguments: args }) => ({ type: "tool_call", callId, name, arguments: args })),
    passedBudgets: ofBudgets.filter(isApproved).flatMap(({ budgetIds = [] }) => budgetIds),
    deniedPass: denied === undefined ? null : String(parsedArguments(denied.arguments)["reason"]),
    unanswered: ofTools.filter(({ callId }) => !given.has(callId)).length,
  };
}

function resultItem({ callId, waitsFor }: DeferredCall, answer: ToolFeedback<PartRef> | undefined): ToolResultItem {
  if (answer === undefined) {
    return {
      type: "tool_result",
      callId,
      output: waitsFor === "approval" ? "denied: no response" : "failed: no result",
      isError: true,
    };
  }
  if ("approved" in answer) {
    return {
      type: "tool_result",
      callId,
      output: `denied: ${answer.reason ?? "the user did not allow it"}`,
      isError: true,
    };
  }
  const { output, isError, media } = answer;
  return { type: "tool_result", callId, output, ...(isError && { isError }), ...(media !== undefined && { media }) };
}

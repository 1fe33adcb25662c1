/**
 * The questions of a running turn that wait for a person (V5). A question belongs to its turn, and not to the client that
 * made the request: any client that may continue the session can answer it, and the first answer counts.
 */
import type { ApprovalAnswer } from "../../engine.ts";

export class OpenQuestions {
  readonly #open = new Map<string, PromiseWithResolvers<ApprovalAnswer>>();

  /** Opens the question about a call. Resolves with the first answer. */
  open(callId: string): Promise<ApprovalAnswer> {
    const question = Promise.withResolvers<ApprovalAnswer>();
    this.#open.set(callId, question);
    return question.promise;
  }

  /** Returns false if the question is not open: it was answered, or its turn has ended. */
  answer(callId: string, answer: ApprovalAnswer): boolean {
    const question = this.#open.get(callId);
    question?.resolve(answer);
    return this.#open.delete(callId);
  }

  /** Ends a question that can no longer be answered. */
  close(callId: string): void {
    this.#open.delete(callId);
  }
}

/** The open questions of one followed turn, as this client is asked about them (V5). Another client may answer first. */
import { AptoveError } from "../../../domain/errors.ts";
import type { TurnEvent } from "../../../domain/events.ts";
import type { ApprovalAnswer } from "../../../engine/engine.ts";
import { askClientForPermission, type PermissionPorts, type ShownQuestion } from "./permission.ts";

export interface QuestionPorts extends PermissionPorts {
  /** Gives the answer to the turn. Throws `question_not_open` if another answer came first. */
  answer(callId: string, answer: ApprovalAnswer): Promise<void>;
}

export class TurnQuestions {
  readonly #ports: QuestionPorts;
  /** The questions that are open. A question that the client is asked has the means to withdraw it. */
  readonly #open = new Map<string, { question: ShownQuestion; asked: AbortController | null }>();
  #isPresent = false;

  constructor(ports: QuestionPorts) {
    this.#ports = ports;
  }

  /** Takes an event that the client has received. `rawInput` has the arguments of the event's call. */
  seen(event: TurnEvent, rawInput: (callId: string) => unknown): void {
    if (event.type === "tool_call_view" && event.asks === true) {
      const { callId, view } = event;
      this.#open.set(callId, { question: { callId, view, rawInput: rawInput(callId) }, asked: null });
      if (this.#isPresent) this.#askAll();
    }
    if (event.type === "approval_answered" || event.type === "tool_result") this.#withdraw(event.callId);
  }

  /** Begins to ask: all events so far were received, so what is open now is not answered yet. */
  begin(): void {
    this.#isPresent = true;
    this.#askAll();
  }

  /** Withdraws everything. */
  end(): void {
    for (const callId of [...this.#open.keys()]) this.#withdraw(callId);
  }

  #askAll(): void {
    for (const entry of this.#open.values()) {
      if (entry.asked !== null) continue;
      entry.asked = new AbortController();
      void this.#ask(entry.question, entry.asked.signal);
    }
  }

  #withdraw(callId: string): void {
    this.#open.get(callId)?.asked?.abort();
    this.#open.delete(callId);
  }

  async #ask(question: ShownQuestion, signal: AbortSignal): Promise<void> {
    const answer = await askClientForPermission(this.#ports, question, signal);
    if (answer === null || signal.aborted) return;
    try {
      await this.#ports.answer(question.callId, answer);
    } catch (error) {
      if (error instanceof AptoveError && error.code === "question_not_open") return;
      this.#ports.report(`the answer about a call of turn ${this.#ports.turnId} could not be given`, error);
    }
  }
}

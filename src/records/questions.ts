/**
 * The records' part for questions that clients ask about calls of their own tools (V5). The turn of such a call has ended and waits for
 * its result, so no process holds the question: the client that will run the tool keeps it open with a lease, and any other client
 * that may continue the session can answer.
 *
 * A driver must do the following.
 * - Leases begin, are renewed and expire by the store's own clock, because the clocks of machines may differ.
 * - The first answer counts, whichever process gives it.
 * - `purges` deletes the questions of the turns that it deletes: a view has content.
 */
import type { ClientCallView } from "../domain/tool.ts";

export interface QuestionRecords {
  /**
   * Opens the question for `leaseMs`, or renews it if the same asker has it open, and returns its answer. A question of another asker
   * about the same call is replaced, with its answer: the call may have run with it. Null: there is no answer.
   */
  ask(asking: ClientAsking): Promise<ClientAnswer | null>;
  /** Returns the questions of a turn that have no answer and whose lease has not expired, by `callId`. */
  listOpen(turnId: string): Promise<ClientQuestion[]>;
  /** Stores the answer, and keeps it for `keptMs`. Returns false if there is no open question. */
  answer(answering: ClientAnswering): Promise<boolean>;
  /** Removes the question of this asker, and its answer. */
  withdraw(question: Pick<ClientQuestion, "turnId" | "callId" | "askerId">): Promise<void>;
}

export interface ClientQuestion {
  turnId: string;
  callId: string;
  /** Tells one time of asking from another. */
  askerId: string;
  view: ClientCallView;
}
export interface ClientAsking extends ClientQuestion {
  leaseMs: number;
}
export interface ClientAnswer {
  approved: boolean;
  /** True: such calls are allowed permanently. */
  always?: boolean;
  /** Why the call was denied. */
  reason?: string;
}
export interface ClientAnswering extends Pick<ClientQuestion, "turnId" | "callId"> {
  answer: ClientAnswer;
  keptMs: number;
}

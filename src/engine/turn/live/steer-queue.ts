/** The messages that were sent to a running turn and that the model has not received yet (V4). */

export interface SteerMessage {
  /** The id of the message. The model receives a message that arrives twice only once (T13). */
  id: string;
  text: string;
}

export class SteerQueue {
  readonly #seen = new Set<string>();
  #waiting: { text: string }[] = [];
  #isOpen = true;

  /** Adds a message, once. Returns false if the turn takes no more messages. */
  offer(message: SteerMessage): boolean {
    if (this.#seen.has(message.id)) return true;
    if (!this.#isOpen) return false;
    this.addLate(message);
    return true;
  }

  /** Adds a message, once, also to a turn that takes no more: the turn is about to record that it came too late. */
  addLate({ id, text }: SteerMessage): void {
    if (this.#seen.has(id)) return;
    this.#seen.add(id);
    this.#waiting.push({ text });
  }

  /** True if the turn ever got a message. */
  get isUsed(): boolean {
    return this.#seen.size > 0;
  }

  /** Takes all waiting messages. With `isLast`, an empty queue closes: the turn ends and accepts no more. */
  take({ isLast }: { isLast: boolean }): { text: string }[] {
    const taken = this.#waiting;
    this.#waiting = [];
    if (isLast && taken.length === 0) this.#isOpen = false;
    return taken;
  }

  /** Closes the queue. Returns the messages that no model call is left for. */
  close(): { text: string }[] {
    this.#isOpen = false;
    return this.take({ isLast: true });
  }
}

/** Messages that a running turn was given and that the model has not received yet (V4). */

export interface SteerMessage {
  /** A message that arrives twice under one id is given to the model once (T13). */
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
    this.add(message);
    return true;
  }

  /** Adds a message whose sender knows already that it is taken. If it is too late for the model, the turn's record keeps it. */
  add({ id, text }: SteerMessage): void {
    if (this.#seen.has(id)) return;
    this.#seen.add(id);
    this.#waiting.push({ text });
  }

  /** Takes all messages that wait. With `isLast` an empty queue closes: the turn ends and takes no more. */
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

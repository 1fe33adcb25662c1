/** Counts the connections that each user holds open, for every door that limits them (H5). Each server counts its own. */
import type { Caller } from "../domain/caller.ts";
import { AptoveError } from "../domain/errors.ts";

export class ConnectionSlots {
  readonly #open = new Map<string, number>();
  readonly #max: number;
  readonly #what: string;

  /** `what` names the connections in the refusal, for example "connections". */
  constructor(max: number, what = "connections") {
    this.#max = max;
    this.#what = what;
  }

  /** Takes a slot of the user, and returns the function that frees it. Only its first call counts. Throws `connections_limited`. */
  take({ userId }: Pick<Caller, "userId">): () => void {
    const count = this.#open.get(userId) ?? 0;
    if (count >= this.#max) {
      const detail = `${count} of your ${this.#what} are open, and the limit is ${this.#max}; close one`;
      throw new AptoveError("connections_limited", detail, { facts: { limit: this.#max, retryAfterSeconds: 1 } });
    }
    this.#open.set(userId, count + 1);
    let isFree = false;
    return () => {
      if (isFree) return;
      isFree = true;
      const left = (this.#open.get(userId) ?? 1) - 1;
      if (left === 0) this.#open.delete(userId);
      else this.#open.set(userId, left);
    };
  }
}

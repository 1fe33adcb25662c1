/**
 * Ids of tool calls for providers that give none, or give the same ones again in every answer. A result finds its
 * call by the id alone, over the whole history, so an id that is not unique would answer an older call (T8).
 */
import { sha256 } from "../domain/ids.ts";

const madeUp = /^call_[0-9a-f]{24}$/;

/** Whether an id may have been made up here, so that its provider does not know it. */
export function isGeneratedCallId(callId: string): boolean {
  return madeUp.test(callId);
}

export class CallIds {
  readonly #requestBody: string;
  readonly #used = new Set<string>();

  /** The body of the request holds the ids of the history, and makes those that are made up the same every time. */
  constructor(requestBody: string) {
    this.#requestBody = requestBody;
  }

  /** The id for the next call of the answer: the given one where it is unique, else one that is made up. */
  next(given: string | null | undefined): string {
    const callId = typeof given === "string" && this.#isUnique(given) ? given : this.#makeUp();
    this.#used.add(callId);
    return callId;
  }

  /** What stands anywhere in the request as a text of its own counts as used: that errs on the safe side. */
  #isUnique(id: string): boolean {
    return id !== "" && !this.#used.has(id) && !this.#requestBody.includes(JSON.stringify(id));
  }

  #makeUp(): string {
    return `call_${sha256(`${this.#used.size}\n${this.#requestBody}`).slice(0, 24)}`;
  }
}

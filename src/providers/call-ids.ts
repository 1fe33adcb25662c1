/**
 * Makes ids of tool calls for providers that send none, or send the same ones again in every answer. A result finds its
 * call by the id alone, in the whole history, so an id that is not unique would answer an older call (T8).
 */
import { sha256 } from "../domain/ids.ts";

const generatedId = /^call_[0-9a-f]{24}$/;

/** Checks whether an id may have been generated here, so that its provider does not know it. */
export function isGeneratedCallId(callId: string): boolean {
  return generatedId.test(callId);
}

export class CallIds {
  readonly #requestBody: string;
  readonly #used = new Set<string>();

  /**
   * The body of the request contains the ids of the history. The generated ids depend on it, so they are the same every
   * time.
   */
  constructor(requestBody: string) {
    this.#requestBody = requestBody;
  }

  /** Returns the id for the next call of the answer: the given one if it is unique, otherwise a generated one. */
  next(given: string | null | undefined): string {
    const callId = typeof given === "string" && this.#isUnique(given) ? given : this.#generate();
    this.#used.add(callId);
    return callId;
  }

  /** An id counts as used if it is a whole JSON text anywhere in the request. That is stricter than needed, and safe. */
  #isUnique(id: string): boolean {
    return id !== "" && !this.#used.has(id) && !this.#requestBody.includes(JSON.stringify(id));
  }

  #generate(): string {
    return `call_${sha256(`${this.#used.size}\n${this.#requestBody}`).slice(0, 24)}`;
  }
}

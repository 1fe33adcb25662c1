/**
 * Reads the stream of one answer. The driver's reader turns each event of its wire into our events; it is a state
 * machine without clock or network. Everything else about a stream is the same for all wires and is done here.
 */
import { failure } from "../domain/errors.ts";
import type { Usage } from "../domain/usage.ts";
import { AnswerState } from "./answer-state.ts";
import type { StreamReader } from "./http-call.ts";
import type { PreparedRequest, ProviderEvent } from "./provider.ts";
import type { TerminalEvent } from "./terminal-event.ts";

/** How a wire streams an answer. `Part` is one parsed event of it. */
export interface AnswerWire<Part> {
  /**
   * Parses the data of one server-sent event. Returns null for an event that no reader needs. Throws if the data is
   * not JSON, or if a field is missing that its kind of event must have.
   */
  parse(data: string): Part | null;
  /** Makes the reader of one answer. */
  newReader(answer: AnswerState): PartReader<Part>;
  /** Returns the usage in a part, or null. Only for wires that may send it after the end of the answer. */
  usageIn?(part: Part): Usage | null;
  /** The data that ends the stream and is not an event, such as `[DONE]`. */
  endMark?: string;
}

/** The state machine of a driver. It keeps what is particular to its wire; the rest is in the `AnswerState`. */
export interface PartReader<Part> {
  /** Returns the events that a part gives. It is not called again after the answer has ended. */
  read(part: Part): ProviderEvent[];
}

export class AnswerReader<Part> implements StreamReader {
  hasBegun = false;
  readonly #wire: AnswerWire<Part>;
  readonly #answer: AnswerState;
  readonly #reader: PartReader<Part>;

  constructor(wire: AnswerWire<Part>, provider: string, request: PreparedRequest) {
    this.#wire = wire;
    this.#answer = new AnswerState(provider, request);
    this.#reader = wire.newReader(this.#answer);
  }

  get terminal(): TerminalEvent | null {
    return this.#answer.terminal;
  }

  /** The usage if the answer ends here, before its own end. */
  get usageOfFailure(): Usage {
    return this.#answer.usageOfFailure;
  }

  /** Data that cannot be understood ends the answer as a failure. After the end only the usage is read. */
  read(data: string): ProviderEvent[] {
    const answer = this.#answer;
    if (data === this.#wire.endMark) return [];
    try {
      const part = this.#wire.parse(data);
      this.hasBegun = true;
      if (part === null) return [];
      answer.usage = this.#wire.usageIn?.(part) ?? answer.usage;
      return answer.hasEnded ? [] : this.#reader.read(part);
    } catch (error) {
      if (answer.hasEnded) return [];
      const fault = error instanceof SyntaxError ? "that is not JSON" : "that lacks a required field";
      return answer.fail(
        failure("provider_answer_invalid", `${answer.provider} sent an event ${fault}: ${data.slice(0, 200)}`),
      );
    }
  }
}

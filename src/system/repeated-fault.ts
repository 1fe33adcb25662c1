/** A fault of work that is tried again and again. A store that stays away would otherwise cause thousands of reports in an hour. */

export type Report = (message: string, error?: unknown) => void;

/** Reports that a fault began, and that it is over. */
export class RepeatedFault {
  readonly #report: Report;
  readonly #message: string;
  /** Null: the work succeeded the last time. */
  #reason: string | null = null;

  /** `message` says what fails. */
  constructor(report: Report, message: string) {
    this.#report = report;
    this.#message = message;
  }

  /** The work failed. It is reported once, and once more for each other reason. */
  failed(error: unknown, reason = ""): void {
    if (this.#reason !== reason) this.#report(this.#message, error);
    this.#reason = reason;
  }

  /** The work succeeded. */
  succeeded(): void {
    if (this.#reason !== null) this.#report(`a fault is over: ${this.#message}`);
    this.#reason = null;
  }
}

/** A refusal in Anthropic's shape: an HTTP status and an error object. */
import type { ErrorObject } from "@anthropic-ai/sdk/resources/shared";

/** The client library has no type for the last one: such a request never reaches the API. */
export type RefusalType = ErrorObject["type"] | "request_too_large";

export interface RefusalDetail {
  status?: number;
  type?: RefusalType;
  /** The cause, which is sent in `details`. */
  errorCode?: string;
}

export class Refusal extends Error {
  readonly status: number;
  readonly type: RefusalType;
  readonly errorCode: string | null;

  /** The default is status 400 with the type `invalid_request_error`. */
  constructor(message: string, detail: RefusalDetail = {}) {
    super(message);
    this.name = "Refusal";
    this.status = detail.status ?? 400;
    this.type = detail.type ?? "invalid_request_error";
    this.errorCode = detail.errorCode ?? null;
  }

  /** The body of the answer, and the data of an `error` event in the middle of a stream. */
  get body(): { type: "error"; error: object; request_id: string } {
    const details = this.errorCode === null ? {} : { details: { error_code: this.errorCode } };
    return { type: "error", error: { type: this.type, message: this.message, ...details }, request_id: "req_fake" };
  }
}

/** A refusal in OpenAI's shape: an HTTP status and an `error` object with all four fields. */
export interface RefusalDetail {
  status?: number;
  type?: string;
  param?: string | null;
  code?: string | null;
}

export class Refusal extends Error {
  readonly status: number;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;

  /** The default is status 400 with the type `invalid_request_error`. */
  constructor(message: string, detail: RefusalDetail = {}) {
    super(message);
    this.name = "Refusal";
    this.status = detail.status ?? 400;
    this.type = detail.type ?? "invalid_request_error";
    this.param = detail.param ?? null;
    this.code = detail.code ?? null;
  }

  get body(): { error: { message: string; type: string; param: string | null; code: string | null } } {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}

/** A refusal in Google's shape: an HTTP status, and an `error` object that names it again. */

const names = {
  400: "INVALID_ARGUMENT",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
} as const;

/** One entry of `details`: `@type` and the fields of that type. */
export type Detail = { "@type": string } & Record<string, unknown>;

export class GoogleRefusal extends Error {
  readonly status: keyof typeof names;
  readonly details: readonly Detail[];

  constructor(
    message: string,
    { status = 400, details = [] }: { status?: keyof typeof names; details?: Detail[] } = {},
  ) {
    super(message);
    this.name = "GoogleRefusal";
    this.status = status;
    this.details = details;
  }

  get error(): Record<string, unknown> {
    const { status, message, details } = this;
    return { code: status, message, status: names[status], ...(details.length > 0 && { details }) };
  }

  get body(): { error: Record<string, unknown> } {
    return { error: this.error };
  }
}

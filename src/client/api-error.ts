/** The error that every method of the client throws, except for a bad argument. */
import type { ErrorCode } from "../protocol/problem.ts";

/**
 * The codes of the server, and three of the client: `unreachable` (no answer), `answer_invalid` (the answer is not one
 * of aptove), and `stream_cut` (the stream stayed broken after all retries).
 */
export type ApiErrorCode = ErrorCode | "unreachable" | "answer_invalid" | "stream_cut";

export class AptoveApiError extends Error {
  readonly code: ApiErrorCode;
  /** HTTP status. 0 if there was no answer. */
  readonly status: number;
  readonly detail: string;
  readonly retryable: boolean;
  /** Further members of the problem document, for example `turnId` of the running turn (T5). */
  readonly facts: Record<string, unknown>;
  /** Milliseconds from the `Retry-After` header. Null if the answer has none. */
  readonly retryAfterMs: number | null;

  constructor(
    code: ApiErrorCode,
    detail: string,
    more: {
      status?: number;
      title?: string;
      retryable?: boolean;
      facts?: Record<string, unknown>;
      retryAfterMs?: number | null;
      cause?: unknown;
    } = {},
  ) {
    super(more.title === undefined ? detail : `${more.title}: ${detail}`, { cause: more.cause });
    this.name = "AptoveApiError";
    this.code = code;
    this.status = more.status ?? 0;
    this.detail = detail;
    this.retryable = more.retryable ?? false;
    this.facts = more.facts ?? {};
    this.retryAfterMs = more.retryAfterMs ?? null;
  }
}

/** Reads the server's refusal. An answer that is not a problem document comes from another server, for example a proxy. */
export async function apiErrorOf(response: Response): Promise<AptoveApiError> {
  const { status } = response;
  const text = await response.text();
  const problem = response.headers.get("content-type")?.startsWith("application/problem+json") ? parse(text) : null;
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfterMs = Number.isFinite(retryAfter) ? retryAfter * 1_000 : null;
  if (problem === null) {
    // A proxy answers with these while the server behind it is replaced.
    const retryable = status >= 502 && status <= 504;
    const why = `status ${status} without a problem document`;
    return new AptoveApiError("answer_invalid", why, { status, retryable, retryAfterMs });
  }
  const { type: _type, title, status: _status, detail, code, retryable, ...facts } = problem;
  return new AptoveApiError(code as ErrorCode, String(detail), {
    status,
    title: String(title),
    retryable: retryable === true,
    facts,
    retryAfterMs,
  });
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "code" in value ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

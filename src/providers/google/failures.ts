/** What Google's errors mean (C7). They come as the body of an HTTP error, and in the middle of a stream. */
import { z } from "zod";
import type { ErrorCode, Failure } from "../../domain/errors.ts";
import { codeByStatus, httpFailure, streamFailure } from "../http-failures.ts";

/** One detail of an error; which of the fields it has depends on its type. */
const detail = z.object({
  reason: z.string().optional().catch(undefined),
  retryDelay: z.string().optional().catch(undefined),
  violations: z
    .array(z.object({ quotaId: z.string().optional() }))
    .optional()
    .catch(undefined),
});

const wireError = z.object({
  code: z.number().nullable().catch(null),
  message: z.string().nullable().catch(null),
  status: z.string().nullable().catch(null),
  details: z.array(detail).catch([]),
});

/** An error as Google writes it; what was not given is null. */
export type WireError = z.infer<typeof wireError>;

const nothing: WireError = { code: null, message: null, status: null, details: [] };

/** Reads an error object of any shape; what is not one has no fields. */
export function readWireError(value: unknown): WireError {
  return wireError.catch(nothing).parse(value);
}

const errorBody = z.object({ error: z.unknown() });

/** Reads the body of an HTTP error: `{error: {…}}`, the same in a list, or anything else. */
export function readErrorBody(body: string): WireError {
  try {
    const value: unknown = JSON.parse(body);
    const parsed = errorBody.safeParse(Array.isArray(value) ? value[0] : value);
    return parsed.success ? readWireError(parsed.data.error) : nothing;
  } catch {
    // Not JSON, for example a proxy's own page: the status says enough.
    return nothing;
  }
}

const byWireStatus = new Map<string | null, ErrorCode>(
  Object.entries({
    UNAUTHENTICATED: "provider_unauthenticated",
    PERMISSION_DENIED: "provider_unauthenticated",
    ABORTED: "provider_unavailable",
    CANCELLED: "provider_unavailable",
    DEADLINE_EXCEEDED: "provider_unavailable",
    INTERNAL: "provider_unavailable",
    UNAVAILABLE: "provider_unavailable",
    UNKNOWN: "provider_unavailable",
    FAILED_PRECONDITION: "provider_rejected",
    INVALID_ARGUMENT: "provider_rejected",
    NOT_FOUND: "provider_rejected",
    OUT_OF_RANGE: "provider_rejected",
    UNIMPLEMENTED: "provider_rejected",
  } satisfies Record<string, ErrorCode>),
);

function errorCodeOf(error: WireError, httpStatus: number | null): ErrorCode {
  const status = httpStatus ?? error.code;
  if (error.status === "RESOURCE_EXHAUSTED" || status === 429) return limitCode(error);
  // A wrong key is an invalid argument to Google.
  if (error.details.some(({ reason }) => reason?.startsWith("API_KEY_"))) return "provider_unauthenticated";
  if (/input token count.*exceeds|exceeds the maximum number of tokens/i.test(error.message ?? "")) {
    return "context_window_exceeded";
  }
  return byWireStatus.get(error.status) ?? (status === null ? "provider_unavailable" : codeByStatus(status));
}

/**
 * A quota of the day is used up for this turn, even though Google also names a delay with it; every other limit is
 * over in a moment.
 */
function limitCode({ details }: WireError): ErrorCode {
  const quotas = details.flatMap(({ violations = [] }) => violations.map(({ quotaId = "" }) => quotaId));
  return quotas.some((id) => /PerDay|Daily/.test(id)) ? "provider_quota_exhausted" : "provider_rate_limited";
}

/** The failure that an HTTP error stands for. */
export function refusalOf(status: number, error: WireError, retryAfterMs: number | null): Failure {
  return httpFailure(errorCodeOf(error, status), { status, words: wordsOf(error), retryAfterMs });
}

/** The failure that an error inside a stream stands for. */
export function failureInStream(error: WireError): Failure {
  return streamFailure(errorCodeOf(error, null), wordsOf(error));
}

function wordsOf({ message, status }: WireError): string | null {
  return message ?? status;
}

/** Milliseconds that an error asks to wait, from its retry info, which is in seconds: `36s`, `1.5s`. */
export function retryDelayOf({ details }: WireError): number | null {
  const given = details.map(({ retryDelay }) => /^(\d+(?:\.\d+)?)s$/.exec(retryDelay ?? "")?.[1]);
  const seconds = given.find((text) => text !== undefined);
  return seconds === undefined ? null : Math.round(Number(seconds) * 1000);
}

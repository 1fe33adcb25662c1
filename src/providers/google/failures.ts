/** What Google's errors mean (C7). They come as the body of an HTTP error, and in the middle of a stream. */
import * as z from "zod";
import type { ErrorCode } from "../../domain/errors.ts";
import { codeByStatus, errorFieldOf, type ErrorWire, parsedJson } from "../http-failures.ts";

/** One detail of an error; which of the fields it has depends on its type. */
const detail = z.object({
  reason: z.string().optional().catch(undefined),
  retryDelay: z.string().optional().catch(undefined),
  violations: z
    .array(z.object({ quotaId: z.string().optional() }))
    .optional()
    .catch(undefined),
});

const googleError = z
  .object({
    code: z.number().nullable().catch(null),
    message: z.string().nullable().catch(null),
    status: z.string().nullable().catch(null),
    details: z.array(detail).catch([]),
  })
  .catch({ code: null, message: null, status: null, details: [] });

/** An error as Google writes it; missing fields are null. */
type GoogleError = z.infer<typeof googleError>;

export const googleErrors: ErrorWire<GoogleError> = {
  findIn,
  read: (error) => googleError.parse(error),
  codeOf,
  messageOf: ({ message, status }) => message ?? status,
  retryAfterIn,
};

/** Finds the error in the body of an HTTP error, which may be a list with one object. */
function findIn(body: string): unknown {
  const value = parsedJson(body);
  return errorFieldOf(Array.isArray(value) ? value[0] : value);
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

function codeOf(error: GoogleError, httpStatus: number | null): ErrorCode {
  const status = httpStatus ?? error.code;
  if (error.status === "RESOURCE_EXHAUSTED" || status === 429) return limitCode(error);
  // Google reports a wrong key as an invalid argument.
  if (error.details.some(({ reason }) => reason?.startsWith("API_KEY_"))) return "provider_unauthenticated";
  if (/input token count.*exceeds|exceeds the maximum number of tokens/i.test(error.message ?? "")) {
    return "context_window_exceeded";
  }
  return byWireStatus.get(error.status) ?? (status === null ? "provider_unavailable" : codeByStatus(status));
}

/**
 * Returns the code for a limit. A daily quota is exhausted for this turn, even though Google names a delay with it too.
 * Every other limit ends after a moment.
 */
function limitCode({ details }: GoogleError): ErrorCode {
  const quotas = details.flatMap(({ violations = [] }) => violations.map(({ quotaId = "" }) => quotaId));
  return quotas.some((id) => /PerDay|Daily/.test(id)) ? "provider_quota_exhausted" : "provider_rate_limited";
}

/** Returns the wait in milliseconds from the retry info, which is in seconds: `36s`, `1.5s`. */
function retryAfterIn({ details }: GoogleError): number | null {
  const given = details.map(({ retryDelay }) => /^(\d+(?:\.\d+)?)s$/.exec(retryDelay ?? "")?.[1]);
  const seconds = given.find((text) => text !== undefined);
  return seconds === undefined ? null : Math.round(Number(seconds) * 1000);
}

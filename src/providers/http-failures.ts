/** What the HTTP errors of providers have in common (C7). What their codes and words mean is each driver's own. */
import { type ErrorCode, type Failure, failure } from "../domain/errors.ts";

/** A longer message is cut: it is shown to people. */
const messageCharactersMax = 1_000;

export interface HttpRefusal {
  status: number;
  /** The provider's own words; null where it gave none. */
  words: string | null;
  retryAfterMs: number | null;
}

/** What a status says where nothing else does. */
export function codeByStatus(status: number): ErrorCode {
  if (status === 401 || status === 403) return "provider_unauthenticated";
  if (status === 429) return "provider_rate_limited";
  if (status === 408 || status === 409 || status >= 500) return "provider_unavailable";
  return "provider_rejected";
}

/** The failure that an HTTP error stands for. The wait is named in the message, for whoever is not retried. */
export function httpFailure(code: ErrorCode, { status, words, retryAfterMs }: HttpRefusal): Failure {
  // The provider's own words quote parts of the key (E8).
  if (code === "provider_unauthenticated" && status === 401) return failure(code, "it answered 401 to the API key");
  const wait = retryAfterMs === null ? "" : `; it asks to wait ${Math.ceil(retryAfterMs / 1000)} s`;
  return failure(code, `${shortened(words) ?? "it gave no reason"} (HTTP ${status}${wait})`);
}

/** The failure that an error inside a stream stands for. */
export function streamFailure(code: ErrorCode, words: string | null): Failure {
  return failure(code, shortened(words) ?? "it failed and gave no reason");
}

function shortened(words: string | null): string | null {
  return words === null || words === "" ? null : words.slice(0, messageCharactersMax);
}

/** Milliseconds from `retry-after-ms` or `retry-after` (seconds or a date); null where neither can be read. */
export function retryAfterOf(headers: Pick<Headers, "get">, now: number): number | null {
  const exact = headers.get("retry-after-ms")?.trim();
  if (exact !== undefined && isNumber(exact)) return Math.round(Number(exact));
  const given = headers.get("retry-after")?.trim();
  if (given === undefined) return null;
  if (isNumber(given)) return Math.round(Number(given) * 1000);
  const date = /^[A-Z][a-z]{2}/.test(given) ? Date.parse(given) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

function isNumber(text: string): boolean {
  return /^\d+(\.\d+)?$/.test(text);
}

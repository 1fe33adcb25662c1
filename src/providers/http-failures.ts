/**
 * What the errors of providers have in common (C7), whether they come as an HTTP error or inside a stream. What the
 * codes and words of an error mean is declared by each driver.
 */
import * as z from "zod";
import { type ErrorCode, type Failure, failure } from "../domain/errors.ts";
import { spokenTime } from "../domain/spoken-time.ts";
import type { ProviderFailed } from "./provider.ts";
import { believedWait, failedEvent } from "./terminal-event.ts";

/** How a wire writes its errors, and what they mean. `WireError` is one error as the driver reads it. */
export interface ErrorWire<WireError> {
  /** Finds the error in the body of an HTTP error. By default it is the field `error` of a JSON object. */
  findIn?(body: string): unknown;
  /** Reads an error of any shape; what is not an error has no fields. Must not throw. */
  read(error: unknown): WireError;
  /** Returns the code of an error. `status` is null for an error inside a stream. */
  codeOf(error: WireError, status: number | null): ErrorCode;
  /** Returns the provider's explanation, or its own code where it gave no explanation. */
  messageOf(error: WireError): string | null;
  /** Returns the wait in milliseconds that the error itself requests. Only read if no header requests one. */
  retryAfterIn?(error: WireError): number | null;
  /** Returns what the user can try. Its text follows the provider's message. */
  hintFor?(error: WireError, refused: { status: number; model: string }): string | null;
}

/** An HTTP status other than 200, with the beginning of the body, which may be anything. */
export interface HttpErrorResponse {
  status: number;
  body: string;
  /** The wait in milliseconds that the headers request. */
  retryAfterMs: number | null;
  /** The address that a redirect names, without its query. Null or absent: it is no redirect. */
  location?: string | null;
}

interface RefusedRequest extends HttpErrorResponse {
  /** The name of the provider. */
  provider: string;
  /** The requested model. */
  model: string;
  hasKey: boolean;
}

/** Returns the last event of a request that was answered with an HTTP error. */
export function httpErrorEvent<WireError>(wire: ErrorWire<WireError>, refused: RefusedRequest): ProviderFailed {
  const { provider, status, body, hasKey } = refused;
  const error = wire.read(wire.findIn === undefined ? errorFieldOf(parsedJson(body)) : wire.findIn(body));
  const code = wire.codeOf(error, status);
  const retryAfterMs = believedWait(refused.retryAfterMs) ?? believedWait(wire.retryAfterIn?.(error));
  if (code === "provider_unauthenticated" && !hasKey) {
    const message = `${provider} requires an API key, and none is configured (HTTP ${status})`;
    return failedEvent(failure(code, message), { retryAfterMs });
  }
  if (refused.location != null) {
    const fix = "set the base URL to the address that answers there; the key is not sent to another address";
    return failedEvent(failure(code, `${provider} redirects to ${refused.location} (HTTP ${status}); ${fix}`), {
      retryAfterMs,
    });
  }
  const texts = [wire.messageOf(error), wire.hintFor?.(error, refused) ?? null].filter((text) => text !== null);
  const words = texts.length === 0 ? null : texts.join("; ");
  return failedEvent(httpFailure(code, { provider, status, words, retryAfterMs }), { retryAfterMs });
}

/** Returns the failure for an error inside a stream of this provider. */
export function streamErrorFailure<WireError>(wire: ErrorWire<WireError>, provider: string, value: unknown): Failure {
  const error = wire.read(value);
  const words = shortened(wire.messageOf(error));
  const message = words === null ? `${provider} failed and gave no reason` : inItsWords(provider, words);
  return failure(wire.codeOf(error, null), message);
}

/** Returns a message with the own words of a provider, which may be no sentence. */
export function inItsWords(provider: string, words: string): string {
  return `${provider}: ${words}`;
}

const errorBody = z.object({ error: z.unknown() });

/** Returns the field `error` of an object; undefined if there is none. A text becomes an error with that message. */
export function errorFieldOf(body: unknown): unknown {
  const error = errorBody.safeParse(body).data?.error;
  return typeof error === "string" ? { message: error } : error;
}

/** Returns undefined for a body that is not JSON, for example the page of a proxy. */
export function parsedJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // The status says enough.
    return undefined;
  }
}

/** Reads a text or a number as a text, and anything else as null. */
export const optionalText = z
  .union([z.string(), z.number()])
  .nullish()
  .transform((value) => (value === undefined || value === null ? null : String(value)))
  .catch(null);

/** A longer message is cut, because people read it. */
const messageCharactersMax = 1_000;

export interface HttpErrorText {
  provider: string;
  status: number;
  /** The provider's own words; null if there are none. */
  words: string | null;
  retryAfterMs: number | null;
}

/** Returns the code for a status if nothing else explains the error. */
export function codeByStatus(status: number): ErrorCode {
  if (status === 401 || status === 403) return "provider_unauthenticated";
  if (status === 429) return "provider_rate_limited";
  if (status === 408 || status === 409 || status >= 500) return "provider_unavailable";
  return "provider_rejected";
}

/** Returns the failure for an HTTP error. Its message names the wait, for callers that do not retry. */
export function httpFailure(code: ErrorCode, { provider, status, words, retryAfterMs }: HttpErrorText): Failure {
  // The provider's own words quote parts of the key (E8).
  if (code === "provider_unauthenticated" && status === 401) {
    return failure(code, `${provider} answered 401 to the API key`);
  }
  const wait = retryAfterMs === null ? "" : `; it asks to wait ${spokenTime(retryAfterMs)}`;
  const given = shortened(words);
  const message = given === null ? `${provider} gave no reason` : inItsWords(provider, given);
  return failure(code, `${message} (HTTP ${status}${wait})`);
}

function shortened(words: string | null): string | null {
  return words === null || words === "" ? null : words.slice(0, messageCharactersMax);
}

/** Returns the address that a redirect names. A query may have a secret, so it is left out, and so is a password. Null: it is no redirect. */
export function redirectOf(
  { status, headers }: { status: number; headers: Pick<Headers, "get"> },
  requested: string,
): string | null {
  const location = headers.get("location");
  if (status < 300 || status > 399 || location === null) return null;
  const to = URL.parse(location, requested);
  return to === null ? null : shortened(`${to.protocol}//${to.host}${to.pathname}`);
}

/** Returns milliseconds from `retry-after-ms` or `retry-after` (seconds or a date); null if neither can be read. */
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

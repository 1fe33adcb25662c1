/**
 * What the errors of compatible servers mean (C7). Each server has its own form, some have none; where nobody else
 * will, a failure names its mend, for whoever runs the server is often the one who reads it.
 */
import { z } from "zod";
import { type ErrorCode, type Failure, failure } from "../../domain/errors.ts";
import { codeByStatus, httpFailure, streamFailure } from "../http-failures.ts";

/** What can be read from an error; null where it was not given. */
export interface WireError {
  message: string | null;
  type: string | null;
  code: string | null;
}

const nothing: WireError = { message: null, type: null, code: null };

const optionalText = z
  .union([z.string(), z.number()])
  .nullish()
  .transform((value) => (value === undefined || value === null ? null : String(value)))
  .catch(null);

const wireError = z.object({ message: optionalText, type: optionalText, code: optionalText }).catch(nothing);

/** Beside OpenAI's `error`: FastAPI's `detail`, and an error that is the whole body. */
const errorBody = z.looseObject({ error: z.unknown(), detail: z.unknown() }).partial();

/** Reads an error of any form: an object, or words. */
export function readWireError(value: unknown): WireError {
  return typeof value === "string" ? { ...nothing, message: value } : wireError.parse(value);
}

/** Reads the body of an HTTP error, which may be JSON, words, or somebody's web page. */
export function readErrorBody(body: string): WireError {
  try {
    const parsed = errorBody.safeParse(JSON.parse(body));
    if (!parsed.success) return nothing;
    const { error, detail } = parsed.data;
    if (detail !== undefined)
      return { ...nothing, message: typeof detail === "string" ? detail : JSON.stringify(detail) };
    return readWireError(error ?? parsed.data);
  } catch {
    // Not JSON. A page says nothing that its status does not.
    const words = body.trim();
    return words === "" || words.startsWith("<") ? nothing : { ...nothing, message: words };
  }
}

const byWireCode = new Map<string | null, ErrorCode>(
  Object.entries({
    insufficient_quota: "provider_quota_exhausted",
    rate_limit_exceeded: "provider_rate_limited",
    context_length_exceeded: "context_window_exceeded",
    // llama.cpp
    exceed_context_size_error: "context_window_exceeded",
    unavailable_error: "provider_unavailable",
    invalid_api_key: "provider_unauthenticated",
    server_error: "provider_unavailable",
    content_filter: "provider_refused_content",
    content_policy_violation: "provider_refused_content",
  } satisfies Record<string, ErrorCode>),
);

/** In the words of vLLM, llama.cpp and LM Studio. */
const contextWords = /maximum context length|context (?:window|size|length)|exceeds? the (?:available )?context/i;

function namedCode({ code, type, message }: WireError): ErrorCode | undefined {
  const named = byWireCode.get(code) ?? byWireCode.get(type);
  return named ?? (contextWords.test(message ?? "") ? "context_window_exceeded" : undefined);
}

export interface Refusal {
  status: number;
  error: WireError;
  retryAfterMs: number | null;
  /** The model that was asked for. */
  model: string;
  hasKey: boolean;
}

/** The failure that an HTTP error stands for. */
export function refusalOf({ status, error, retryAfterMs, model, hasKey }: Refusal): Failure {
  const code = status === 402 ? "provider_quota_exhausted" : (namedCode(error) ?? codeByStatus(status));
  if (code === "provider_unauthenticated" && !hasKey) {
    return failure(code, `it asks for an API key, and none is configured (HTTP ${status})`);
  }
  const words = [error.message ?? error.code, mendOf(status, error, model)].filter((text) => text !== null);
  return httpFailure(code, { status, words: words.length === 0 ? null : words.join("; "), retryAfterMs });
}

/** A server that lacks the model and one that lacks the path both answer 404. */
function mendOf(status: number, { message, code }: WireError, model: string): string | null {
  if (code === "model_not_found" || (status === 404 && /model/i.test(message ?? ""))) {
    return `does it serve the model "${model}"? With Ollama: ollama pull ${model}`;
  }
  const isWrongPath = status === 404 || status === 405;
  return isWrongPath ? "is the base URL right? Most servers want /v1 at its end" : null;
}

/** The failure that an error inside a stream stands for. */
export function failureInStream(error: WireError): Failure {
  const isEmpty = error.message === null && error.code === null;
  return streamFailure(
    namedCode(error) ?? (isEmpty ? "provider_unavailable" : codeInStream(error)),
    error.message ?? error.code,
  );
}

/** Some servers write the status that it would have been. */
function codeInStream({ code }: WireError): ErrorCode {
  const status = Number(code);
  return code !== null && status >= 400 && status < 600 ? codeByStatus(status) : "provider_unavailable";
}

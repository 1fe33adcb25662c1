/**
 * What the errors of compatible servers mean (C7). Each server has its own form, and some have none. A failure names
 * what may fix it, because the person who reads it is often the one who runs the server.
 */
import * as z from "zod";
import type { ErrorCode } from "../../domain/errors.ts";
import { codeByStatus, type ErrorWire, optionalText, parsedJson } from "../http-failures.ts";

/** The fields that can be read from an error; missing ones are null. */
interface CompatibleError {
  message: string | null;
  type: string | null;
  code: string | null;
}

const nothing: CompatibleError = { message: null, type: null, code: null };

const compatibleError = z.object({ message: optionalText, type: optionalText, code: optionalText }).catch(nothing);

export const compatibleErrors: ErrorWire<CompatibleError> = {
  findIn,
  read: (error) => (typeof error === "string" ? { ...nothing, message: error } : compatibleError.parse(error)),
  codeOf,
  messageOf: ({ message, code }) => message ?? code,
  hintFor,
};

/** The field `error` of OpenAI or the field `detail` of FastAPI; without both the error is the whole body. */
const errorBody = z.looseObject({ error: z.unknown(), detail: z.unknown() }).partial();

/** Finds the error in a body, which may be JSON, plain text, or a web page. */
function findIn(body: string): unknown {
  const value = parsedJson(body);
  if (value === undefined) {
    const text = body.trim();
    // A web page explains nothing that its status does not.
    return text === "" || text.startsWith("<") ? null : text;
  }
  const { error, detail } = errorBody.safeParse(value).data ?? {};
  if (detail !== undefined) return typeof detail === "string" ? detail : JSON.stringify(detail);
  return error ?? (typeof value === "string" ? null : value);
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

/** The words of vLLM, llama.cpp and LM Studio for a history that is too long. */
const contextWords = /maximum context length|context (?:window|size|length)|exceeds? the (?:available )?context/i;

function codeOf({ code, type, message }: CompatibleError, status: number | null): ErrorCode {
  if (status === 402) return "provider_quota_exhausted";
  const named = byWireCode.get(code) ?? byWireCode.get(type);
  if (named !== undefined) return named;
  if (contextWords.test(message ?? "")) return "context_window_exceeded";
  return status === null ? codeInStream(code) : codeByStatus(status);
}

/** Returns the code for an error in a stream. Some servers write the HTTP status into its code. */
function codeInStream(code: string | null): ErrorCode {
  const status = Number(code);
  return code !== null && status >= 400 && status < 600 ? codeByStatus(status) : "provider_unavailable";
}

/** Returns a hint for a 404: servers give it both for a missing model and for a wrong path. */
function hintFor(
  { message, code }: CompatibleError,
  { status, model }: { status: number; model: string },
): string | null {
  if (code === "model_not_found" || (status === 404 && /model/i.test(message ?? ""))) {
    return `does it serve the model "${model}"? With Ollama: ollama pull ${model}`;
  }
  const isWrongPath = status === 404 || status === 405;
  return isWrongPath ? "is the base URL right? Most servers want /v1 at its end" : null;
}

/**
 * Errors in OpenAI's form. What a caller may not see and what never was give the same bytes (O1, H4).
 */
import { AptoveError, errorCatalogue, type ErrorCode, type Failure } from "../../domain/errors.ts";

export interface WireError {
  message: string;
  type: string;
  param: string | null;
  code: string | null;
}

/** What the door knows of an error beside its code: the parameter that is wrong, and OpenAI's own code. */
interface WireFacts {
  param?: string;
  /** Null: OpenAI has no code for the error. */
  code?: string | null;
  status?: number;
}

/** Returns the error for a parameter that is wrong. `code` is OpenAI's. */
export function badParameter(
  param: string | null,
  message: string,
  code: string | null = "invalid_value",
): AptoveError {
  const wire: WireFacts = { code, ...(param !== null && { param }) };
  return new AptoveError("request_invalid", message, { facts: { wire } });
}

/** Returns the error for a parameter, or a value of one, that this server knows and does not have. */
export function unsupported(param: string, message: string): AptoveError {
  return badParameter(param, message, "unsupported_parameter");
}

/** Returns the error for a resource that does not exist, or that the caller may not see. */
export function noSuch(what: string, id: string): AptoveError {
  return new AptoveError("not_found", `${what} with id '${id}' not found.`, { facts: { wire: {} } });
}

/** Returns the error for an item that an input refers to and that does not exist. */
export function noItem(id: string): AptoveError {
  const wire: WireFacts = { param: "input" };
  return new AptoveError("not_found", `Item with id '${id}' not found.`, { facts: { wire } });
}

/** Handles a read of what the caller may not see, as of what does not exist. */
export function unlessHidden(error: unknown): null {
  if (error instanceof AptoveError && error.code === "not_found") return null;
  throw error;
}

/** Returns the error for a response that cannot be continued because there is none. */
export function noPrevious(id: string): AptoveError {
  return badParameter(
    "previous_response_id",
    `Previous response with id '${id}' not found.`,
    "previous_response_not_found",
  );
}

/** The statuses that differ from those of our own catalogue. OpenAI has no 422. */
const statuses: Partial<Record<ErrorCode, number>> = {
  provider_quota_exhausted: 429,
  interrupted: 409,
};

/** OpenAI's codes for ours, where it has one. Another error has our own code. */
const codes: Partial<Record<ErrorCode, string>> = {
  unauthenticated: "invalid_api_key",
  not_found: "not_found",
  rate_limited: "rate_limit_exceeded",
  provider_rate_limited: "rate_limit_exceeded",
  provider_quota_exhausted: "insufficient_quota",
  context_window_exceeded: "context_length_exceeded",
  context_unknown: "model_not_found",
  provider_unknown: "model_not_found",
};

/** The parameters that our own errors are about. */
const parameters: Partial<Record<ErrorCode, string>> = {
  context_unknown: "model",
  provider_unknown: "model",
  tool_invalid: "tools",
  tool_choice_unknown: "tool_choice",
  tool_feedback_invalid: "input",
  earlier_invalid: "input",
  instruction_empty: "input",
  instruction_not_text: "input",
  instruction_too_large: "input",
  input_part_invalid: "input",
  input_part_unsupported: "input",
  input_too_large: "input",
  url_refused: "input",
};

function typeOf(status: number): string {
  if (status === 429) return "rate_limit_error";
  if (status >= 500) return "server_error";
  return status === 401 ? "authentication_error" : "invalid_request_error";
}

/** Returns the status and the error as the client receives them. */
export function toWireError({ code, detail, facts }: AptoveError): { status: number; error: WireError } {
  const wire = factsOf(facts["wire"]);
  const own = errorCatalogue[code].status;
  const status = wire.status ?? statuses[code] ?? (own === 422 ? 400 : own);
  return {
    status,
    error: {
      message: detail,
      type: typeOf(status),
      param: wire.param ?? parameters[code] ?? null,
      code: wire.code === undefined ? (codes[code] ?? code) : wire.code,
    },
  };
}

/** Returns an error about the input of a response as one about the parameter in which the client sent it: `messages` or `items`. */
export function aboutParameter(thrown: unknown, name: string): unknown {
  const param = thrown instanceof AptoveError ? toWireError(thrown).error.param : null;
  if (!(thrown instanceof AptoveError) || param === null || !/^input(?:\[|$)/.test(param)) return thrown;
  const { code, detail, facts } = thrown;
  const wire: WireFacts = { ...factsOf(facts["wire"]), param: param.replace("input", name) };
  return new AptoveError(code, detail.replaceAll(/'input(?=['[])/g, `'${name}`), { facts: { ...facts, wire } });
}

function factsOf(value: unknown): WireFacts {
  return typeof value === "object" && value !== null ? value : {};
}

/** The longest wait in seconds that the official SDKs keep. After a longer one they would send the request again at once. */
const keptWaitMax = 60;

/** Returns the body of a refusal. */
export function wireRefusal(error: AptoveError) {
  const { status, error: value } = toWireError(error);
  const { retryAfterSeconds } = error.facts;
  const isLong = typeof retryAfterSeconds === "number" && retryAfterSeconds > keptWaitMax;
  return { status, value: { error: value }, headers: isLong ? { "x-should-retry": "false" } : {} };
}

/** Returns the failure of a turn as an error. */
export function turnFailure({ code, message, retryAfterSeconds }: Failure, turnId: string): AptoveError {
  return new AptoveError(code, message, { facts: { turnId, retryAfterSeconds } });
}

/**
 * Reasons of failed turns that a response names by OpenAI's codes for them. The types of the official SDK have only one of these codes for responses, but
 * the service sends them, and agents depend on them: they summarise their history, or do not try again.
 */
const namedInResponses: readonly ErrorCode[] = [
  "context_window_exceeded",
  "provider_quota_exhausted",
  "provider_rate_limited",
  "rate_limited",
];

/** Returns the reason of a failure as a response has it. */
export function responseError({ code, message }: Failure): { code: string; message: string } {
  const named = namedInResponses.includes(code) ? codes[code] : undefined;
  const isOfInput = ["provider_refused_content", "provider_rejected"].includes(code);
  return { code: named ?? (isOfInput ? "invalid_prompt" : "server_error"), message };
}

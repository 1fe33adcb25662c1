/** Turns any error into an ACP error: a JSON-RPC code, and the code and facts of aptove in `data` (H3). */
import { RequestError } from "@agentclientprotocol/sdk";
import { AptoveError, errorCatalogue, type ErrorCode, type Failure } from "../../domain/errors.ts";
import { fixes } from "../../domain/fixes.ts";
import { newId } from "../../domain/ids.ts";
import type { AcpPorts } from "./ports.ts";

/** The error codes of JSON-RPC and ACP that this door uses. */
const rpcCodes = {
  invalidRequest: -32600,
  invalidParams: -32602,
  internal: -32603,
  authRequired: -32000,
  notFound: -32002,
} as const;

/** Returns the ACP error for a thrown value. None of the text of an unexpected error is shown; the log and the response share an id. */
export function refusal(thrown: unknown, report: AcpPorts["report"]): RequestError {
  if (thrown instanceof RequestError) return thrown;
  if (thrown instanceof AptoveError && thrown.code !== "internal") {
    const { code, detail, facts } = thrown;
    return requestError(rpcCode(code), detail, { code, ...facts });
  }
  const faultId = newId();
  report(`a request of an ACP client failed unexpectedly (${faultId})`, thrown);
  return requestError(rpcCodes.internal, `an unexpected error in aptove; its log has the details under ${faultId}`, {
    code: "internal",
    faultId,
  });
}

/** Returns the response to a prompt whose turn failed. */
export function failedTurn({ message, ...facts }: Failure, turnId: string): RequestError {
  return requestError(rpcCodes.internal, message, { ...facts, turnId, fix: fixes[facts.code] });
}

/** The code of the answer to a request of the agent that the client can no longer answer. */
export const clientLeft = "client_left";

export function sessionNotOpen(sessionId: string): RequestError {
  const detail = `the session ${JSON.stringify(sessionId)} is not open here; open it with session/load or session/resume`;
  return requestError(rpcCodes.notFound, detail, { code: "not_found", sessionId });
}

function rpcCode(code: ErrorCode): number {
  switch (errorCatalogue[code].status) {
    case 400:
    case 413:
    case 422:
      return rpcCodes.invalidParams;
    case 401:
      return rpcCodes.authRequired;
    case 404:
      return rpcCodes.notFound;
    case 403:
    case 409:
    case 410:
    case 429:
      return rpcCodes.invalidRequest;
    default:
      return rpcCodes.internal;
  }
}

/** Refuses a session because its provider has no key. The client then shows the methods of `initialize`. */
export function keyRequired(message: string, data: Record<string, unknown>): RequestError {
  return requestError(rpcCodes.authRequired, message, { code: "provider_unauthenticated", ...data });
}

/** Removes line breaks from the message, because clients show it in one line. */
function requestError(code: number, message: string, data: Record<string, unknown>): RequestError {
  return new RequestError(code, message.replaceAll(/\s*[\r\n]+\s*/g, " "), data);
}

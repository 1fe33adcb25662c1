/** Whatever went wrong as an ACP error: a JSON-RPC code for clients, and our code with its facts in `data` (H3). */
import { RequestError } from "@agentclientprotocol/sdk";
import { AptoveError, errorCatalogue, type ErrorCode, type Failure } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { AcpPorts } from "./ports.ts";

/** Errors of JSON-RPC and ACP that we give. */
const rpcCodes = { invalidParams: -32602, internal: -32603, authRequired: -32000, notFound: -32002 } as const;

/** What was not thrown on purpose tells nothing of itself: the log and the answer share an id. */
export function refusal(thrown: unknown, report: AcpPorts["report"]): RequestError {
  if (thrown instanceof RequestError) return thrown;
  if (thrown instanceof AptoveError && thrown.code !== "internal") {
    const { code, detail, facts } = thrown;
    return requestError(rpcCode(code), detail, { code, ...facts });
  }
  const faultId = newId();
  report(`fault ${faultId} while answering a client`, thrown);
  return requestError(rpcCodes.internal, `a fault in aptove itself; its log tells more under ${faultId}`, {
    code: "internal",
    faultId,
  });
}

/** A turn that failed: the prompt's answer. */
export function failedTurn({ code, message, retryable }: Failure, turnId: string): RequestError {
  return requestError(rpcCodes.internal, message, { code, retryable, turnId });
}

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
    default:
      return rpcCodes.internal;
  }
}

/** Clients show the message in one line. */
function requestError(code: number, message: string, data: Record<string, unknown>): RequestError {
  return new RequestError(code, message.replaceAll(/\s*[\r\n]+\s*/g, " "), data);
}

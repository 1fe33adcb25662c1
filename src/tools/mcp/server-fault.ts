/**
 * Describes why a server or a call failed, in words that follow the server's name, for the model and for people. All of the
 * text may come from the server. So it is limited to one line of bounded length, and its secrets are hidden (E8).
 */
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";

const faultCharactersMax = 500;

/** The connection ended. The message is the reason, in words that follow the server's name. */
export class ServerEnded extends Error {}

/** Returns the fault of a server or a call as one line. */
export function faultOf(error: unknown): string {
  const text = faultText(error).replaceAll(/\s+/g, " ").trim();
  return text.length <= faultCharactersMax ? text : `${text.slice(0, faultCharactersMax)}…`.toWellFormed();
}

function faultText(error: unknown): string {
  if (!(error instanceof Error)) return `failed: ${String(error)}`;
  if (error instanceof ServerEnded) return error.message;
  if (error instanceof SdkHttpError) return httpWords(error);
  if (error instanceof ProtocolError) return `refuses: ${error.message} (${error.code})`;
  const code = systemCode(error);
  if (code === "ENOENT") return "cannot be started: there is no such command or folder";
  if (code === "EACCES") return "cannot be started: the command is not executable";
  if (code !== null) return `cannot be reached (${code})`;
  if (error instanceof SdkError) return sdkWords(error);
  return `failed: ${error.message}`;
}

function httpWords({ status, data, message }: SdkHttpError): string {
  if (status === 401 || status === 403) return `refuses the authorization (HTTP ${status})`;
  const isRedirect = status >= 300 && status < 400;
  return `responds with HTTP ${status}: ${isRedirect ? message : bodyOf(data) || message}`;
}

function bodyOf(data: SdkHttpError["data"]): string {
  const { text } = data;
  return typeof text === "string" ? text : "";
}

function sdkWords({ code, message }: SdkError): string {
  if (code === SdkErrorCode.InvalidResult) return `sends a response that is not valid: ${message}`;
  if (code === SdkErrorCode.ListPaginationExceeded) return "has a list of tools without an end";
  return `failed: ${message}`;
}

/** Returns the system's code of an error or of its cause, because a message such as `fetch failed` has no details. Null if there is none. */
function systemCode(error: Error): string | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ("code" in at && typeof at.code === "string" && /^E[A-Z]+$|^UND_/.test(at.code)) return at.code;
  }
  return null;
}

/** Returns true if the server no longer has the session that it created: it was restarted or lost it (HTTP 404; some servers send 400). */
export function isSessionLost(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  return error.status === 404 || (error.status === 400 && /session/i.test(bodyOf(error.data)));
}

/** Returns true if the server responds but refuses this version of the protocol. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof ProtocolError || error instanceof SdkHttpError) return true;
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed && systemCode(error) === null;
}

/** Returns true if the server responded, even with an error. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ProtocolError;
}

/** Returns true if the connection ended before or during the call. */
export function isClosed(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed;
}

/** Returns true if the call got no response in time. */
export function isTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

/**
 * Why a server or a call failed, in words for the model and for people that go on after the server's name. All that
 * stands in it may come from the server, so it is bounded, of one line, and without its secrets (E8).
 */
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";

const faultCharactersMax = 500;

/** The connection ended. The message says why, in words that go on after the server's name. */
export class ServerEnded extends Error {}

export function faultOf(error: unknown): string {
  const text = words(error).replaceAll(/\s+/g, " ").trim();
  return text.length <= faultCharactersMax ? text : `${text.slice(0, faultCharactersMax)}…`.toWellFormed();
}

function words(error: unknown): string {
  if (!(error instanceof Error)) return `failed: ${String(error)}`;
  if (error instanceof ServerEnded) return error.message;
  if (error instanceof SdkHttpError) return httpWords(error);
  if (error instanceof ProtocolError) return `refuses: ${error.message} (${error.code})`;
  const code = systemCode(error);
  if (code === "ENOENT") return "cannot be started: there is no such command or folder";
  if (code === "EACCES") return "cannot be started: the command may not be run";
  if (code !== null) return `cannot be reached (${code})`;
  if (error instanceof SdkError) return sdkWords(error);
  return `failed: ${error.message}`;
}

function httpWords({ status, data, message }: SdkHttpError): string {
  if (status === 401 || status === 403) return `wants another authorization (HTTP ${status})`;
  const isRedirect = status >= 300 && status < 400;
  return `answers with HTTP ${status}: ${isRedirect ? message : bodyOf(data) || message}`;
}

function bodyOf(data: SdkHttpError["data"]): string {
  const { text } = data;
  return typeof text === "string" ? text : "";
}

function sdkWords({ code, message }: SdkError): string {
  if (code === SdkErrorCode.InvalidResult) return `gives an answer that is not valid: ${message}`;
  if (code === SdkErrorCode.ListPaginationExceeded) return "has a list of tools without an end";
  return `failed: ${message}`;
}

/** Of the error, or of what caused it: `fetch failed` says nothing. */
function systemCode(error: Error): string | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ("code" in at && typeof at.code === "string" && /^E[A-Z]+$|^UND_/.test(at.code)) return at.code;
  }
  return null;
}

/** The server no longer knows the session that it gave: it was started anew, or forgot (HTTP 404; some say 400). */
export function isSessionLost(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  return error.status === 404 || (error.status === 400 && /session/i.test(bodyOf(error.data)));
}

/** It answers, and does not take the way in which it was spoken to. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof ProtocolError || error instanceof SdkHttpError) return true;
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed && systemCode(error) === null;
}

/** It answered, whatever it said. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ProtocolError;
}

/** The connection ended, before the call or in the middle of it. */
export function isClosed(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed;
}

export function isTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

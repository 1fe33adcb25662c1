/** Any thrown value as problem details (H3). What was not thrown on purpose is `internal`, and tells nothing of itself. */
import { AptoveError } from "../../domain/errors.ts";
import { problemMediaType, toProblem } from "../../protocol/problem.ts";
import type { RequestInfo } from "./admission/request-info.ts";

export type Report = (message: string, error?: unknown) => void;

/** `visit` learns the code. */
export function problemAnswer(
  thrown: unknown,
  visit: Pick<RequestInfo, "requestId" | "code">,
  report: Report,
): Response {
  const { requestId } = visit;
  const isMeant = thrown instanceof AptoveError && thrown.code !== "internal";
  const error = isMeant ? thrown : unexpected(thrown, requestId, report);
  visit.code = error.code;
  const problem = { ...toProblem(error), requestId };
  const headers = new Headers({ "content-type": problemMediaType });
  if (error.code === "unauthenticated") headers.set("www-authenticate", 'Bearer realm="aptove"');
  const { retryAfterSeconds, allow } = error.facts;
  if (typeof retryAfterSeconds === "number") headers.set("retry-after", String(retryAfterSeconds));
  if (typeof allow === "string") headers.set("allow", allow);
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}

/** The answer and the log share the request's id, so that whoever runs the server finds what happened. */
function unexpected(thrown: unknown, requestId: string, report: Report): AptoveError {
  report(`fault while answering request ${requestId}`, thrown);
  return new AptoveError("internal", `the server's log tells more under ${requestId}`);
}

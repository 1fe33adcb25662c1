/** Turns any thrown value into a problem document (H3). An unexpected error becomes `internal`, and none of its text is shown. */
import { AptoveError } from "../../domain/errors.ts";
import { problemMediaType, toProblem } from "../../protocol/problem.ts";
import type { RequestInfo } from "./admission/request-info.ts";

export type ReportFault = (message: string, error?: unknown) => void;

/** Writes an error in the form of another protocol. */
export type RefusalForm = (error: AptoveError) => {
  status: number;
  value: object;
  headers?: Readonly<Record<string, string>>;
};

interface Answering {
  report: ReportFault;
  /** Absent: a problem document. */
  form?: RefusalForm | undefined;
}

/** Creates the response for a thrown value, and writes its code into `info`. */
export function problemAnswer(
  thrown: unknown,
  info: Pick<RequestInfo, "requestId" | "code">,
  { report, form }: Answering,
): Response {
  const { requestId } = info;
  const isMeant = thrown instanceof AptoveError && thrown.code !== "internal";
  const error = isMeant ? thrown : unexpected(thrown, requestId, report);
  info.code = error.code;
  const problem = { ...toProblem(error), requestId };
  const headers = new Headers({ "content-type": form === undefined ? problemMediaType : "application/json" });
  if (error.code === "unauthenticated") headers.set("www-authenticate", 'Bearer realm="aptove"');
  const { retryAfterSeconds, allow } = error.facts;
  if (typeof retryAfterSeconds === "number") headers.set("retry-after", String(retryAfterSeconds));
  if (typeof allow === "string") headers.set("allow", allow);
  const { status, value, headers: own = {} } = form?.(error) ?? { status: problem.status, value: problem };
  for (const [name, text] of Object.entries(own)) headers.set(name, text);
  return new Response(JSON.stringify(value), { status, headers });
}

/** Logs an unexpected error. The response and the log share the request's id, so that the operator finds the cause. */
function unexpected(thrown: unknown, requestId: string, report: ReportFault): AptoveError {
  report(`request ${requestId} failed unexpectedly`, thrown);
  return new AptoveError(
    "internal",
    `an unexpected error; the operator finds it in the server's log under ${requestId}`,
  );
}

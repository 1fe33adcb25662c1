/** The name of one request, by which its answer, its lines in the log and its trace are found (H3). */
import { newId } from "../../../domain/ids.ts";

/** The one that a proxy gave, else the trace's, else a new one. Whatever else stands in the headers is not taken. */
export function requestIdOf(headers: Headers): string {
  const given = headers.get("x-request-id") ?? "";
  if (/^[A-Za-z0-9._:-]{1,128}$/.test(given)) return given;
  const [, trace] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/.exec(headers.get("traceparent") ?? "") ?? [];
  return trace !== undefined && /[1-9a-f]/.test(trace) ? trace : newId();
}

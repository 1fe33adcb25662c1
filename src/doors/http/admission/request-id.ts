/** The id of one request. Its response, its lines in the log and its trace have it (H3). */
import { newId } from "../../../domain/ids.ts";

/** Returns the id that a proxy gave, or else the id of the trace, or else a new one. A malformed id is ignored. */
export function requestIdOf(headers: Headers): string {
  const given = headers.get("x-request-id") ?? "";
  if (/^[A-Za-z0-9._:-]{1,128}$/.test(given)) return given;
  const [, trace] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/.exec(headers.get("traceparent") ?? "") ?? [];
  return trace !== undefined && /[1-9a-f]/.test(trace) ? trace : newId();
}

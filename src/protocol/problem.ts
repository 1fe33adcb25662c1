/** Errors on the wire: RFC 9457 problem details with a stable `code` (H3). */
import { z } from "zod";
import { errorCatalogue } from "../domain/errors.ts";
import type { AptoveError } from "../domain/errors.ts";
import { errorCode } from "./values.ts";

export type { ErrorCode } from "../domain/errors.ts";

export const problemMediaType = "application/problem+json";

export const problem = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: errorCode,
    retryable: z.boolean().describe("Whether the same request may succeed when it is sent again unchanged."),
    requestId: z.string().optional().describe("The request's name in the server's log."),
  })
  .meta({
    id: "Problem",
    description: "Further members are facts of the case, for example `turnId` of the running turn.",
  });
export type WireProblem = z.infer<typeof problem>;

export function toProblem(error: AptoveError): WireProblem {
  const { status, title, retryable } = errorCatalogue[error.code];
  const type = `urn:aptove:error:${error.code}`;
  return { ...error.facts, type, title, status, detail: error.detail, code: error.code, retryable };
}

/** Error responses: RFC 9457 problem details with a stable `code` (H3). */
import * as z from "zod";
import { errorCatalogue, type AptoveError } from "../domain/errors.ts";
import { errorCodeSchema } from "./values.ts";

export type { ErrorCode } from "../domain/errors.ts";

export const problemMediaType = "application/problem+json";

export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: errorCodeSchema,
    retryable: z.boolean().describe("True if the same request may succeed when it is sent again unchanged."),
    requestId: z.string().optional().describe("The id of the request in the server's log."),
  })
  .meta({
    id: "Problem",
    description: "Additional members are facts about the error, for example the `turnId` of the running turn.",
  });
export type WireProblem = z.infer<typeof problemSchema>;

/** Converts an error into the body of its response. */
export function toProblem(error: AptoveError): WireProblem {
  const { status, title, retryable } = errorCatalogue[error.code];
  const type = `urn:aptove:error:${error.code}`;
  return { ...error.facts, type, title, status, detail: error.detail, code: error.code, retryable };
}

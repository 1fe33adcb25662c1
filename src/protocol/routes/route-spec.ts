/** The form of an entry of the route table, and parts that several routes share. */
import * as z from "zod";
import type { ErrorCode } from "../../domain/errors.ts";
import { agUiEventSchema } from "../live/ag-ui-schema.ts";

/** The access rule of a route (H4). `open` needs no key, `read` needs a key, `write` refuses readers, `admin` requires an admin. */
export type RouteAccess = "open" | "read" | "write" | "admin";

export interface RouteSpec {
  summary: string;
  access: RouteAccess;
  /** True for an open route that returns more to some callers, so the route checks a key if the request has one. */
  greets?: true;
  /** Parameters of the path, if there are others than `{id}`. If they do not match, the answer is `not_found`. */
  params?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  /** The JSON body. If it is absent and there are other bodies, JSON is not accepted. */
  body?: z.ZodType;
  /** Other media types that the body may have, each with a description. */
  otherBodies?: Record<string, string>;
  status: 200 | 201 | 204;
  /** The JSON answer. If it is absent, the answer is not JSON. */
  answer?: z.ZodType;
  /** Other media types of the answer, each with a description. */
  otherAnswers?: Record<string, string>;
  /** Returns the schema of the data of each event, if an answer is a stream of events. */
  events?: () => z.ZodType;
  /** The JSON answer with status 503, in place of a problem. */
  unavailable?: z.ZodType;
  /** The JSON answer with status 202. */
  accepted?: z.ZodType;
  /** Error codes of this route, in addition to those of every route with its access rule. */
  errors: readonly ErrorCode[];
}

/** Returns true if requests of the route have a body. */
export function takesBody({ body, otherBodies }: RouteSpec): boolean {
  return body !== undefined || otherBodies !== undefined;
}

export const eventStreamAnswers = {
  events: agUiEventSchema,
  otherAnswers: {
    "text/event-stream": "AG-UI 1.0 events, each with its `id:`. The stream ends after the terminal event.",
  },
};
export const resumeParameters = {
  query: z.strictObject({
    after: z
      .string()
      .optional()
      .describe("The id of the last event that the client has, or the number of events that it has."),
  }),
  headers: z.object({
    "Last-Event-ID": z.string().optional().describe("The id of the last event that the client has."),
  }),
};

/** The same for the events of one turn, which a client behind a proxy that holds streams back can ask for. */
export const turnEventParameters = {
  ...resumeParameters,
  query: resumeParameters.query.extend({
    until: z
      .literal("now")
      .optional()
      .describe("`now`: the answer ends after the events that there are now, also if the turn runs."),
  }),
};

/** Error codes of routes that read the stored contents of a turn. */
export const storedTurnErrors = [
  "blob_missing",
  "blob_damaged",
  "blobs_unavailable",
  "records_damaged",
  "storage_failed",
] as const;

/** What the table says of a route, and what several routes share. */
import { z } from "zod";
import type { ErrorCode } from "../../domain/errors.ts";

/** `open` needs no key; `write` refuses readers; `admin` refuses everyone else (H4). */
export type Access = "open" | "read" | "write" | "admin";

export interface RouteSpec {
  summary: string;
  access: Access;
  /** Open, and tells more to some: a key that comes along is looked at. */
  greets?: true;
  /** Parameters of the path beside `{id}`; what does not fit is not there. */
  params?: z.ZodObject;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  /** The JSON body; absent, where there are other bodies: JSON is not taken. */
  body?: z.ZodType;
  /** Other media types that the body may have, each with what it holds. */
  otherBodies?: Record<string, string>;
  status: 200 | 201 | 204;
  /** The JSON answer; absent: the answer is not JSON. */
  answer?: z.ZodType;
  /** Other media types of the answer, each with what it holds. */
  otherAnswers?: Record<string, string>;
  /** A second way to succeed. */
  accepted?: z.ZodType;
  /** Codes that this route adds to those that every route of its access has. */
  errors: readonly ErrorCode[];
}

/** Whether requests of the route have a body. */
export function takesBody({ body, otherBodies }: RouteSpec): boolean {
  return body !== undefined || otherBodies !== undefined;
}

export const events = { "text/event-stream": "AG-UI 1.0 events, each with its `id:`; ends after the terminal event." };
export const resume = {
  query: z.strictObject({
    after: z.string().optional().describe("An event's id, or the number of events that were had already."),
  }),
  headers: z.object({ "Last-Event-ID": z.string().optional().describe("The id of the last event that was had.") }),
};

/** Codes of routes that read what is kept of a turn. */
export const stored = ["blob_missing", "blob_damaged", "storage_failed"] as const;

/** The routes of summaries of sessions (M5). */
import {
  summaryCallQuerySchema,
  summaryListQuerySchema,
  summaryListSchema,
  summaryQuerySchema,
  summarySchema,
  summaryStartSchema,
} from "../summary/summary.ts";
import type { RouteName } from "./paths.ts";
import { type RouteSpec, storedTurnErrors } from "./route-spec.ts";

export const summaryRoutes = {
  startSummary: {
    summary:
      "Begins a summary of a branch of the session. It answers at once; the model is called in the background. Without new turns it answers with the summary that there is.",
    access: "write",
    body: summaryStartSchema,
    status: 201,
    answer: summarySchema,
    errors: [
      "nothing_to_summarize",
      "summary_running",
      "turn_not_continuable",
      "context_unknown",
      "provider_unknown",
      "history_unavailable",
      "storage_full",
      "blobs_unavailable",
      "shutting_down",
    ],
  },
  listSummaries: {
    summary: "Lists the summaries of a session, the newest first.",
    access: "read",
    query: summaryListQuerySchema,
    status: 200,
    answer: summaryListSchema,
    errors: [],
  },
  getSummary: {
    summary: "Returns a summary, if wanted when it has ended.",
    access: "read",
    query: summaryQuerySchema,
    status: 200,
    answer: summarySchema,
    errors: [],
  },
  stopSummary: {
    summary: "Stops a summary that is being made: it fails with `interrupted`. The request is idempotent.",
    access: "write",
    status: 200,
    answer: summarySchema,
    errors: ["storage_full"],
  },
  getSummaryRequest: {
    summary: "Returns the exact bytes of a request that was sent to the model for a summary.",
    access: "read",
    query: summaryCallQuerySchema,
    status: 200,
    otherAnswers: { "application/octet-stream": "The bytes of the request." },
    errors: storedTurnErrors,
  },
  getSummaryResponse: {
    summary: "Returns the exact bytes of the model's response to such a request.",
    access: "read",
    query: summaryCallQuerySchema,
    status: 200,
    otherAnswers: { "application/octet-stream": "The bytes of the response." },
    errors: storedTurnErrors,
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;

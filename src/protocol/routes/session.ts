/** The routes of sessions and of their tree. */
import * as z from "zod";
import { newsQuerySchema, newsSchema } from "../live/news.ts";
import { queryNumber } from "../values.ts";
import { limits } from "../../domain/limits.ts";
import { sessionSizeQuerySchema, sessionSizeSchema, verifyReportSchema } from "../explain.ts";
import type { RouteName } from "./paths.ts";
import { mailboxSchema, mailboxQuerySchema } from "../mailbox.ts";
import { eventStreamAnswers, resumeParameters, type RouteSpec, storedTurnErrors } from "./route-spec.ts";
import {
  sessionSchema,
  sessionListSchema,
  sessionListQuerySchema,
  sessionPatchSchema,
  sessionStartSchema,
} from "../session.ts";
import { pinAnswerSchema, pinListSchema, pinParamsSchema, pinStartSchema } from "../manifest/pin.ts";
import { turnNameParamsSchema, turnNamesSchema, turnNamingSchema } from "../manifest/turn-name.ts";
import { exportQuerySchema, importReportSchema, linesMediaType } from "../transfer.ts";
import {
  headMoveSchema,
  forestQuerySchema,
  forestSchema,
  headMovesSchema,
  purgeReportSchema,
  searchHitsSchema,
  searchQuerySchema,
  sessionGraphQuerySchema,
  sessionGraphSchema,
  undoSchema,
} from "../tree.ts";
import { interruptionSchema, steerSchema, steeringSchema, turnSchema, turnListSchema } from "../turn.ts";

export const sessionRoutes = {
  followNews: {
    summary:
      "Tells what changes in the caller's sessions, and in what waits for the caller, as long as the client listens.",
    access: "read",
    query: newsQuerySchema,
    status: 200,
    events: () => newsSchema,
    otherAnswers: {
      "text/event-stream":
        "Server-sent events, each a `News`. The first one is `read_anew`. After a break the client opens the stream again.",
    },
    errors: ["connections_limited"],
  },
  listSessions: {
    summary:
      "Lists the sessions that the caller owns or took part in, or that are public in the org, the most recently active first.",
    access: "read",
    query: sessionListQuerySchema,
    status: 200,
    answer: sessionListSchema,
    errors: [],
  },
  createSession: {
    summary: "Makes a session without turns. With `forkOf` it starts below an existing turn.",
    access: "write",
    body: sessionStartSchema,
    status: 201,
    answer: sessionSchema,
    errors: [
      "not_found",
      "workspace_unknown",
      "context_unknown",
      "provider_unknown",
      "turn_not_continuable",
      "storage_full",
    ],
  },
  importSessions: {
    summary: "Imports an export of this or another server. A second import changes nothing.",
    access: "write",
    otherBodies: { [linesMediaType]: "The lines of an export. The server reads them while they arrive." },
    status: 200,
    answer: importReportSchema,
    errors: [
      "import_invalid",
      "import_conflict",
      "import_newer",
      "storage_full",
      "storage_failed",
      "blobs_unavailable",
    ],
  },
  getSession: { summary: "Returns a session.", access: "read", status: 200, answer: sessionSchema, errors: [] },
  updateSession: {
    summary: "Changes properties of a session.",
    access: "write",
    body: sessionPatchSchema,
    status: 200,
    answer: sessionSchema,
    errors: ["context_unknown", "provider_unknown", "storage_full"],
  },
  removeSession: {
    summary: "Removes a session from all lists. It can be restored.",
    access: "write",
    status: 200,
    answer: sessionSchema,
    errors: ["storage_full"],
  },
  restoreSession: {
    summary: "Restores a removed session.",
    access: "write",
    status: 200,
    answer: sessionSchema,
    errors: ["storage_full"],
  },
  purgeSession: {
    summary: "Deletes a removed session permanently, except the turns that forks depend on.",
    access: "write",
    status: 200,
    answer: purgeReportSchema,
    errors: ["session_busy", "storage_full", "storage_failed", "blobs_unavailable"],
  },
  archiveSession: {
    summary: "Archives a session: it stays readable and takes no turns.",
    access: "write",
    status: 200,
    answer: sessionSchema,
    errors: ["storage_full"],
  },
  unarchiveSession: {
    summary: "Lets an archived session take turns again.",
    access: "write",
    status: 200,
    answer: sessionSchema,
    errors: ["storage_full"],
  },
  moveHead: {
    summary: "Moves the head to another turn of the session, if the head has not moved since the caller read it.",
    access: "write",
    body: headMoveSchema,
    status: 200,
    answer: sessionSchema,
    errors: ["head_moved", "session_busy", "session_archived", "turn_not_continuable", "storage_full"],
  },
  listHeadMoves: {
    summary: "Lists how people moved the head of a session.",
    access: "read",
    status: 200,
    answer: headMovesSchema,
    errors: [],
  },
  undo: {
    summary: "Moves the head back to before the newest turn of the session's agent.",
    access: "write",
    status: 200,
    answer: undoSchema,
    errors: ["head_moved", "session_busy", "session_archived", "storage_full"],
  },
  getGraph: {
    summary: "Returns a page of the session's turns and of the turns that it was forked from, with its forks.",
    access: "read",
    query: sessionGraphQuerySchema,
    status: 200,
    answer: sessionGraphSchema,
    errors: [],
  },
  verifySession: {
    summary: "Recomputes the digests of the session's turns, and reports the first one that does not match.",
    access: "read",
    status: 200,
    answer: verifyReportSchema,
    errors: ["storage_failed", "blobs_unavailable"],
  },
  sessionSize: {
    summary: "Returns the room that the session takes, by kind and by turn, and what a purge would free.",
    access: "read",
    query: sessionSizeQuerySchema,
    status: 200,
    answer: sessionSizeSchema,
    errors: ["storage_failed", "blobs_unavailable"],
  },
  exportSession: {
    summary: "Exports the session or one of its branches as a file for import, or the session as Markdown.",
    access: "read",
    query: exportQuerySchema,
    status: 200,
    otherAnswers: {
      [linesMediaType]: "The export file, line by line.",
      "text/markdown": "The session as text for reading.",
    },
    errors: storedTurnErrors,
  },
  listTurns: {
    summary: "Lists the turns of a session, newest first.",
    access: "read",
    query: z.strictObject({
      before: queryNumber(1).optional().describe("Show only turns with a smaller sequence number."),
      limit: queryNumber(1, limits.pageSizeMax).optional(),
      texts: z
        .enum(["summary", "whole"])
        .optional()
        .describe(
          "`whole`: each turn also has its whole `instruction` and `answer`, so that a conversation can be shown.",
        ),
    }),
    status: 200,
    answer: turnListSchema,
    errors: [],
  },
  getLastTurn: {
    summary: "Returns the newest turn of the session's agent, in any status.",
    access: "read",
    status: 200,
    answer: turnSchema,
    errors: storedTurnErrors,
  },
  interruptSession: {
    summary: "Stops the session's running turn and its subagents. The request is idempotent.",
    access: "write",
    status: 200,
    answer: interruptionSchema,
    errors: [],
  },
  steerSession: {
    summary: "Sends the session's running turn a message, which the model receives at the turn's next step.",
    access: "write",
    body: steerSchema,
    status: 200,
    answer: steeringSchema,
    errors: ["turn_not_running", "instruction_empty", "instruction_too_large", "instruction_not_text"],
  },
  getMailbox: {
    summary:
      "Lists the messages of subagents for the session's agent, oldest first: those that wait, and those that were delivered, with the turn.",
    access: "read",
    query: mailboxQuerySchema,
    status: 200,
    answer: mailboxSchema,
    errors: [],
  },
  listPins: {
    summary: "Lists the pins of a session: what no compaction of its history drops.",
    access: "read",
    status: 200,
    answer: pinListSchema,
    errors: [],
  },
  addPin: {
    summary:
      "Pins a turn, or a passage of one, so that no compaction drops it. A passage that is pinned already keeps its pin.",
    access: "write",
    body: pinStartSchema,
    status: 200,
    answer: pinAnswerSchema,
    errors: ["pin_invalid", "pins_too_large", ...storedTurnErrors, "storage_full"],
  },
  removePin: {
    summary: "Removes a pin, and returns the pins that are left. The request is idempotent.",
    access: "write",
    params: pinParamsSchema,
    status: 200,
    answer: pinListSchema,
    errors: [...storedTurnErrors, "storage_full"],
  },
  listTurnNames: {
    summary: "Lists the names that turns have in a session.",
    access: "read",
    status: 200,
    answer: turnNamesSchema,
    errors: [],
  },
  nameTurn: {
    summary:
      "Gives a turn of the session, or one above it that it was forked from, a name, or takes it away. Returns all names. The request is idempotent.",
    access: "write",
    params: turnNameParamsSchema,
    body: turnNamingSchema,
    status: 200,
    answer: turnNamesSchema,
    errors: ["storage_full"],
  },
  sessionEvents: {
    summary:
      "Streams the events of the newest turn of the session's agent. With a last event id, the stream continues after it, through all later turns.",
    access: "read",
    ...resumeParameters,
    status: 200,
    ...eventStreamAnswers,
    errors: ["event_id_unknown", ...storedTurnErrors],
  },
  search: {
    summary:
      "Lists the sessions that contain all of the words in their name, labels, metadata, instructions or answers, the newest activity first.",
    access: "read",
    query: searchQuerySchema,
    status: 200,
    answer: searchHitsSchema,
    errors: [],
  },
  getForest: {
    summary: "Returns sessions as trees: each fork after the session that it was forked from.",
    access: "read",
    query: forestQuerySchema,
    status: 200,
    answer: forestSchema,
    errors: ["not_found"],
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;

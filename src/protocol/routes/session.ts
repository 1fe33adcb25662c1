/** The routes of sessions and of their tree. */
import { z } from "zod";
import { queryNumber } from "../values.ts";
import { limits } from "../../domain/limits.ts";
import { verifyReport } from "../explain.ts";
import type { RouteName } from "./paths.ts";
import { mailbox, mailboxQuery } from "../mailbox.ts";
import { events, resume, type RouteSpec, stored } from "./route-spec.ts";
import { session, sessionList, sessionListQuery, sessionPatch, sessionStart } from "../session.ts";
import { exportQuery, importReport, linesMediaType } from "../transfer.ts";
import { headMove, purgeReport, searchHits, searchQuery, sessionGraph } from "../tree.ts";
import { interruption, steer, steering, turn, turnList } from "../turn.ts";

export const sessionRoutes = {
  listSessions: {
    summary: "Sessions that the caller owns, took part in, or that are public in the org; newest activity first.",
    access: "read",
    query: sessionListQuery,
    status: 200,
    answer: sessionList,
    errors: [],
  },
  createSession: {
    summary: "Makes a session without turns; with `forkOf` below a turn that there is.",
    access: "write",
    body: sessionStart,
    status: 201,
    answer: session,
    errors: ["not_found", "workspace_unknown", "context_unknown", "turn_not_continuable", "storage_full"],
  },
  importSessions: {
    summary: "Takes in what the export route gave, here or elsewhere. Importing it twice changes nothing.",
    access: "write",
    otherBodies: { [linesMediaType]: "The lines of an export; they are read as they arrive." },
    status: 200,
    answer: importReport,
    errors: ["import_invalid", "import_conflict", "import_newer", "storage_full", "storage_failed"],
  },
  getSession: { summary: "A session.", access: "read", status: 200, answer: session, errors: [] },
  updateSession: {
    summary: "Changes what a person may change of a session.",
    access: "write",
    body: sessionPatch,
    status: 200,
    answer: session,
    errors: ["storage_full"],
  },
  removeSession: {
    summary: "Removes a session, so that it can be restored.",
    access: "write",
    status: 200,
    answer: session,
    errors: ["storage_full"],
  },
  restoreSession: {
    summary: "Brings a removed session back.",
    access: "write",
    status: 200,
    answer: session,
    errors: ["storage_full"],
  },
  purgeSession: {
    summary: "Deletes a removed session for ever, but for what forks rest on.",
    access: "write",
    status: 200,
    answer: purgeReport,
    errors: ["session_busy", "storage_full", "storage_failed"],
  },
  archiveSession: {
    summary: "Puts a session away: it stays readable and takes no turns.",
    access: "write",
    status: 200,
    answer: session,
    errors: ["storage_full"],
  },
  unarchiveSession: {
    summary: "Lets an archived session take turns again.",
    access: "write",
    status: 200,
    answer: session,
    errors: ["storage_full"],
  },
  moveHead: {
    summary: "Moves the head to another turn of the session, if it still is where the caller saw it.",
    access: "write",
    body: headMove,
    status: 200,
    answer: session,
    errors: ["head_moved", "session_busy", "session_archived", "turn_not_continuable", "storage_full"],
  },
  getGraph: {
    summary: "The session's turns, the lineage that it was forked from, and its forks.",
    access: "read",
    status: 200,
    answer: sessionGraph,
    errors: [],
  },
  verifySession: {
    summary: "Recomputes the digests of the session's turns and names the first that does not hold.",
    access: "read",
    status: 200,
    answer: verifyReport,
    errors: ["storage_failed"],
  },
  exportSession: {
    summary: "The session, or one branch of it, as a file that can be imported, or as Markdown.",
    access: "read",
    query: exportQuery,
    status: 200,
    otherAnswers: { [linesMediaType]: "The file, line by line.", "text/markdown": "For reading." },
    errors: stored,
  },
  listTurns: {
    summary: "Turns of a session, newest first.",
    access: "read",
    query: z.strictObject({
      before: queryNumber(1).optional().describe("Only turns with a smaller sequence number."),
      limit: queryNumber(1, limits.pageSizeMax).optional(),
    }),
    status: 200,
    answer: turnList,
    errors: [],
  },
  getLastTurn: {
    summary: "The newest turn of the session's agent, whatever its status.",
    access: "read",
    status: 200,
    answer: turn,
    errors: stored,
  },
  interruptSession: {
    summary: "Stops the session's running turn, and its subagents. Idempotent.",
    access: "write",
    status: 200,
    answer: interruption,
    errors: [],
  },
  steerSession: {
    summary: "Gives the session's running turn a message, which the model gets at the turn's next step.",
    access: "write",
    body: steer,
    status: 200,
    answer: steering,
    errors: ["turn_not_running", "instruction_empty", "instruction_too_large", "instruction_not_text"],
  },
  getMailbox: {
    summary:
      "What subagents left for the session's agent, oldest first: what waits, and what was delivered to which turn.",
    access: "read",
    query: mailboxQuery,
    status: 200,
    answer: mailbox,
    errors: [],
  },
  sessionEvents: {
    summary:
      "Events of the newest turn of the session's agent; with a last event id, from there through every later one.",
    access: "read",
    ...resume,
    status: 200,
    otherAnswers: events,
    errors: ["event_id_unknown", ...stored],
  },
  search: {
    summary: "Sessions that hold all of the words, in their name, instructions or answers; newest activity first.",
    access: "read",
    query: searchQuery,
    status: 200,
    answer: searchHits,
    errors: [],
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;

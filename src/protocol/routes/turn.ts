/** The routes of turns: running one, and everything that is kept of it. */
import { z } from "zod";
import { limits } from "../../domain/limits.ts";
import { executeAccepted, executeAnswer, executeQuery, executeRequest, fireRequest } from "../execute.ts";
import { turnDiff } from "../explain.ts";
import type { RouteName } from "./paths.ts";
import { events, resume, type RouteSpec, stored } from "./route-spec.ts";
import { interruption, steer, steering, turn, turnContext, turnSummary } from "../turn.ts";
import { id, queryNumber } from "../values.ts";

const step = z.strictObject({ step: queryNumber(1).describe("Model calls of the turn, from 1.") });
const runs = [
  "not_found",
  "instruction_empty",
  "instruction_too_large",
  "instruction_not_text",
  "context_unknown",
  "mode_unknown",
  "provider_unknown",
  "tool_invalid",
  "tool_choice_unknown",
  "tool_feedback_invalid",
  "active_file_invalid",
  "too_many_active_files",
  "input_part_invalid",
  "input_part_unsupported",
  "input_too_large",
  "url_refused",
  "url_unavailable",
  "idempotency_key_reused",
  "session_busy",
  "session_archived",
  "head_moved",
  "turn_not_continuable",
  "turn_not_finished",
  "runs_limited",
  "history_unavailable",
  "storage_full",
  "shutting_down",
] as const;

const idempotent = z.object({
  "Idempotency-Key": z
    .string()
    .max(limits.idempotencyKeyCharactersMax)
    .optional()
    .describe("The same key and body give the same turn, also while it runs."),
});

export const turnRoutes = {
  execute: {
    summary: "Runs a turn: the first of a session, the next of one, a fork, or one again.",
    access: "write",
    query: executeQuery,
    headers: idempotent,
    body: executeRequest,
    otherBodies: {
      "text/plain": "The instruction; everything else stands in the query.",
      "multipart/form-data":
        "A part `request` with the JSON, and files: each is an active file, its file name the path. A file that `request` lists without content, among its active files or in its `input`, gets it here.",
    },
    status: 200,
    answer: executeAnswer,
    otherAnswers: events,
    accepted: executeAccepted,
    errors: [...runs, "mailbox_empty", "mailbox_changed", ...stored],
  },

  fireMailbox: {
    summary:
      "Runs a turn below the head that takes all messages which wait in the session's mailbox, each exactly once.",
    access: "write",
    headers: idempotent,
    body: fireRequest,
    status: 200,
    answer: executeAnswer,
    otherAnswers: events,
    accepted: executeAccepted,
    errors: [...runs, "mailbox_empty", "mailbox_changed", ...stored],
  },

  getTurn: {
    summary: "A turn with its manifest and its steps.",
    access: "read",
    status: 200,
    answer: turn,
    errors: stored,
  },
  getTurnSummary: {
    summary: "A turn as it stands in lists.",
    access: "read",
    status: 200,
    answer: turnSummary,
    errors: [],
  },
  getInstruction: {
    summary: "The whole instruction.",
    access: "read",
    status: 200,
    otherAnswers: { "text/plain": "The instruction as it was given." },
    errors: stored,
  },
  getAnswer: {
    summary: "What the execute route answered, at any later time. As `text/plain`: only the text.",
    access: "read",
    status: 200,
    answer: executeAnswer,
    otherAnswers: { "text/plain": "The answer's text." },
    errors: ["turn_not_finished", ...stored],
  },
  getRequest: {
    summary: "The exact bytes of the body that was sent to the provider in a step.",
    access: "read",
    query: step,
    status: 200,
    otherAnswers: { "application/octet-stream": "The bytes." },
    errors: stored,
  },
  getResponse: {
    summary: "The exact bytes that the provider answered in a step.",
    access: "read",
    query: step,
    status: 200,
    otherAnswers: { "application/octet-stream": "The bytes." },
    errors: stored,
  },
  getContext: {
    summary: "What the turn gave the model: the manifest, and the user message as it was sent.",
    access: "read",
    status: 200,
    answer: turnContext,
    errors: stored,
  },
  diffTurns: {
    summary: "What the model saw differently in this turn and in another, and both answers.",
    access: "read",
    query: z.strictObject({ with: id.describe("The other turn, of any session that the caller may read.") }),
    status: 200,
    answer: turnDiff,
    errors: ["turn_not_finished", "history_unavailable", ...stored],
  },
  turnEvents: {
    summary: "Events of a turn, while it runs and ever after.",
    access: "read",
    ...resume,
    status: 200,
    otherAnswers: events,
    errors: ["event_id_unknown", ...stored],
  },
  interruptTurn: {
    summary: "Stops a turn. Idempotent.",
    access: "write",
    status: 200,
    answer: interruption,
    errors: [],
  },
  steerTurn: {
    summary: "Gives a running turn a message, which the model gets at its next step.",
    access: "write",
    body: steer,
    status: 200,
    answer: steering,
    errors: ["turn_not_running", "instruction_empty", "instruction_too_large", "instruction_not_text"],
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;

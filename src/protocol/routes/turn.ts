/** The routes of turns: running a turn, and reading everything that is stored of it. */
import * as z from "zod";
import { limits } from "../../domain/limits.ts";
import {
  executeAcceptedSchema,
  executeAnswerSchema,
  executeQuerySchema,
  executeRequestSchema,
  fireRequestSchema,
} from "../execute.ts";
import { sizesQuerySchema, sizesSchema, turnDiffSchema } from "../explain.ts";
import type { RouteName } from "./paths.ts";
import { eventStreamAnswers, type RouteSpec, storedTurnErrors, turnEventParameters } from "./route-spec.ts";
import { costsQuerySchema, costsSchema, estimateSchema } from "../costs.ts";
import { indexedFilesQuerySchema, indexedFilesSchema } from "../server/index-list.ts";
import {
  answeredQuestionSchema,
  approvalsSchema,
  askedQuestionSchema,
  questionAnswerSchema,
  questionAskingSchema,
  questionsSchema,
  questionWithdrawalSchema,
} from "../question.ts";
import {
  interruptionSchema,
  steerSchema,
  steeringSchema,
  turnSchema,
  turnContextSchema,
  turnSummarySchema,
} from "../turn.ts";
import { idSchema, queryNumber } from "../values.ts";

const step = z.strictObject({ step: queryNumber(1).describe("Number of the model call of the turn, from 1.") });
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
    .describe("Requests with the same key and body return the same turn, even while it runs."),
});

const executeBodies = {
  "text/plain": "The instruction. All other fields are in the query.",
  "multipart/form-data":
    "A part `request` with the JSON, and files. Each file is an active file, and its file name is the path. If `request` lists a file without content, in its active files or in its `input`, the content is taken from here.",
};

export const turnRoutes = {
  execute: {
    summary: "Runs a turn: the first or the next turn of a session, a fork, or a rerun.",
    access: "write",
    query: executeQuerySchema,
    headers: idempotent,
    body: executeRequestSchema,
    otherBodies: executeBodies,
    status: 200,
    answer: executeAnswerSchema,
    ...eventStreamAnswers,
    accepted: executeAcceptedSchema,
    errors: [...runs, "mailbox_empty", "mailbox_changed", ...storedTurnErrors],
  },

  estimate: {
    summary: "Estimates the first call of a turn, without running it: its tokens by kind, and its price.",
    access: "write",
    query: executeQuerySchema,
    body: executeRequestSchema,
    otherBodies: executeBodies,
    status: 200,
    answer: estimateSchema,
    errors: [...runs, "mailbox_empty", "mailbox_changed", ...storedTurnErrors],
  },

  fireMailbox: {
    summary:
      "Runs a turn below the head that delivers all waiting messages of the session's mailbox, each exactly once.",
    access: "write",
    headers: idempotent,
    body: fireRequestSchema,
    status: 200,
    answer: executeAnswerSchema,
    ...eventStreamAnswers,
    accepted: executeAcceptedSchema,
    errors: [...runs, "mailbox_empty", "mailbox_changed", ...storedTurnErrors],
  },

  getTurn: {
    summary: "Returns a turn with its manifest and its steps.",
    access: "read",
    status: 200,
    answer: turnSchema,
    errors: storedTurnErrors,
  },
  getTurnSummary: {
    summary: "Returns the summary of a turn, as in lists.",
    access: "read",
    status: 200,
    answer: turnSummarySchema,
    errors: [],
  },
  getInstruction: {
    summary: "Returns the whole instruction of a turn.",
    access: "read",
    status: 200,
    otherAnswers: { "text/plain": "The instruction as it was sent." },
    errors: storedTurnErrors,
  },
  getAnswer: {
    summary: "Returns the answer of the execute route at any later time. As `text/plain`, it returns only the text.",
    access: "read",
    status: 200,
    answer: executeAnswerSchema,
    otherAnswers: { "text/plain": "The answer's text." },
    errors: ["turn_not_finished", ...storedTurnErrors],
  },
  getRequest: {
    summary: "Returns the exact bytes of the body that was sent to the provider in a step.",
    access: "read",
    query: step,
    status: 200,
    otherAnswers: { "application/octet-stream": "The bytes." },
    errors: storedTurnErrors,
  },
  getResponse: {
    summary: "Returns the exact bytes of the provider's response in a step.",
    access: "read",
    query: step,
    status: 200,
    otherAnswers: { "application/octet-stream": "The bytes." },
    errors: storedTurnErrors,
  },
  getOutput: {
    summary: "Returns the whole output of a tool call, of which the model may have received a part.",
    access: "read",
    query: z.strictObject({ call: z.string().describe("The id of the call, whose result is in this turn.") }),
    status: 200,
    otherAnswers: { "text/plain": "The output." },
    errors: storedTurnErrors,
  },
  getSource: {
    summary: "Returns the part of another tool's history that an imported turn was made from, byte for byte.",
    access: "read",
    status: 200,
    otherAnswers: { "application/octet-stream": "The bytes." },
    errors: storedTurnErrors,
  },
  getContext: {
    summary: "Returns what the turn gave the model: the manifest, and the user message as it was sent.",
    access: "read",
    status: 200,
    answer: turnContextSchema,
    errors: storedTurnErrors,
  },
  diffTurns: {
    summary: "Compares what the model received in this turn and in another, and returns both answers.",
    access: "read",
    query: z.strictObject({
      with: idSchema.describe("The other turn, which may be of any session that the caller may read."),
    }),
    status: 200,
    answer: turnDiffSchema,
    errors: ["turn_not_finished", "history_unavailable", ...storedTurnErrors],
  },
  turnEvents: {
    summary: "Streams the events of a turn, while it runs and at any later time.",
    access: "read",
    ...turnEventParameters,
    status: 200,
    ...eventStreamAnswers,
    errors: ["event_id_unknown", ...storedTurnErrors],
  },
  archiveTurn: {
    summary: "Archives a finished turn that nothing continues. It stays readable, and cannot be continued.",
    access: "write",
    status: 200,
    answer: turnSummarySchema,
    errors: ["turn_in_use", "turn_not_finished", "storage_full"],
  },
  interruptTurn: {
    summary: "Stops a turn. The request is idempotent.",
    access: "write",
    status: 200,
    answer: interruptionSchema,
    errors: [],
  },
  steerTurn: {
    summary: "Sends a running turn a message, which the model receives at its next step.",
    access: "write",
    body: steerSchema,
    status: 200,
    answer: steeringSchema,
    errors: ["turn_not_running", "instruction_empty", "instruction_too_large", "instruction_not_text"],
  },
  listQuestions: {
    summary: "Returns the questions of a turn that wait for a person: each is a call that may run or not.",
    access: "read",
    status: 200,
    answer: questionsSchema,
    errors: [],
  },
  answerQuestion: {
    summary: "Answers a question of a turn. The first answer counts.",
    access: "write",
    body: questionAnswerSchema,
    status: 200,
    answer: answeredQuestionSchema,
    errors: ["question_not_open"],
  },
  askQuestion: {
    summary:
      "Asks about a call that the turn left to the client's tools, so that others can answer too. Returns the answer, or null. Ask again within a minute.",
    access: "write",
    body: questionAskingSchema,
    status: 200,
    answer: askedQuestionSchema,
    errors: ["question_not_open"],
  },
  withdrawQuestion: {
    summary: "Ends a question that the client has asked.",
    access: "write",
    query: questionWithdrawalSchema,
    status: 204,
    errors: [],
  },
  listApprovals: {
    summary: "Lists the calls over all sessions that wait until the caller allows them.",
    access: "read",
    status: 200,
    answer: approvalsSchema,
    errors: storedTurnErrors,
  },
  getCosts: {
    summary:
      "Returns what turns have cost, by day, session, user and model, over the sessions that the caller may see.",
    access: "read",
    query: costsQuerySchema,
    status: 200,
    answer: costsSchema,
    errors: [],
  },
  getSizes: {
    summary: "Returns the room that the sessions take that the caller may see, by kind, and the largest of them.",
    access: "read",
    query: sizesQuerySchema,
    status: 200,
    answer: sizesSchema,
    errors: ["storage_failed", "blobs_unavailable"],
  },
  listIndexedFiles: {
    summary: "Returns the indexed files of a repository whose path has a part, the best first.",
    access: "read",
    query: indexedFilesQuerySchema,
    status: 200,
    answer: indexedFilesSchema,
    errors: ["index_missing", "index_mismatch", "data_newer", "retrieval_failed"],
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;

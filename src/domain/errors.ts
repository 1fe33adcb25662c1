/**
 * The catalogue of errors. Each error has a stable code, an HTTP status and a title. `docs/errors.md` lists the
 * same codes, and a check compares the two (H3). Doors translate codes by this table and decide nothing themselves.
 */

interface ErrorEntry {
  status: number;
  title: string;
  /** True if the same request may succeed when it is sent again unchanged. */
  retryable: boolean;
}

function entry(status: number, title: string, retryable = false): ErrorEntry {
  return { status, title, retryable };
}

export const errorCatalogue = {
  // The request itself
  request_invalid: entry(400, "The request is not valid"),
  body_too_large: entry(413, "The request body is larger than the limit"),
  instruction_empty: entry(422, "The instruction is empty"),
  instruction_too_large: entry(422, "The instruction is larger than the limit"),
  instruction_not_text: entry(422, "The instruction is not valid Unicode text"),
  context_unknown: entry(422, "The named context does not exist"),
  context_invalid: entry(422, "The context is not valid"),
  fact_invalid: entry(422, "The fact cannot be remembered"),
  fact_changed: entry(412, "The fact has changed since the caller read it"),
  context_changed: entry(412, "The context has changed since the caller read it"),
  mode_unknown: entry(422, "The named mode is not configured"),
  provider_unknown: entry(422, "The named provider is not configured"),
  tool_invalid: entry(422, "A tool definition is not valid"),
  tool_choice_unknown: entry(422, "The forced tool is not in the list of tools"),
  tool_feedback_invalid: entry(422, "The tool results do not match the pending tool calls"),
  earlier_invalid: entry(422, "The earlier items do not make a history"),
  active_file_invalid: entry(422, "An active file is not valid"),
  too_many_active_files: entry(413, "There are more active files than the limit"),
  input_part_invalid: entry(422, "An input part is not valid"),
  input_part_unsupported: entry(422, "The model does not support an input part"),
  input_too_large: entry(413, "The input parts are larger than the limit"),
  url_refused: entry(422, "The address may not be read"),
  url_unavailable: entry(502, "The address could not be read", true),
  file_bundle_invalid: entry(422, "The file bundle is not valid"),
  file_bundle_conflict: entry(409, "A file has changed since the bundle was made"),
  import_invalid: entry(422, "The file is not a complete export"),
  import_newer: entry(422, "The file was written by a newer version"),
  backup_invalid: entry(422, "The folder is not a usable backup"),
  backup_refused: entry(422, "The backup cannot be made or restored here"),
  restore_unfinished: entry(409, "A restore into the data folder has not ended", true),
  move_refused: entry(422, "The blobs of the data folder cannot be moved"),
  data_in_use: entry(409, "Another process uses the data folder", true),
  import_conflict: entry(409, "The import conflicts with existing data"),
  idempotency_key_reused: entry(422, "The idempotency key was used with a different body"),
  event_id_unknown: entry(422, "The event id does not belong to this turn"),
  unsupported_media_type: entry(415, "The media type of the body is not supported"),
  // The caller
  unauthenticated: entry(401, "A valid API key is required"),
  identity_unavailable: entry(503, "The identity provider cannot be reached", true),
  forbidden: entry(403, "The caller's role does not allow this"),
  user_exists: entry(409, "A user of the org already has this email or external id"),
  last_admin: entry(409, "The org must keep at least one admin"),
  origin_refused: entry(403, "The request comes from an origin or host that is not allowed"),
  not_found: entry(404, "The resource does not exist, or the caller may not see it"),
  method_not_allowed: entry(405, "The path does not support this method"),
  rate_limited: entry(429, "Too many requests", true),
  runs_limited: entry(429, "Too many turns are running", true),
  sessions_limited: entry(429, "Too many sessions are open on this connection", true),
  connections_limited: entry(429, "Too many connections are open", true),
  // Sessions and turns
  session_busy: entry(409, "Another turn of this session is running", true),
  session_archived: entry(409, "The session is archived"),
  head_moved: entry(409, "The session's head has moved since the caller read it", true),
  mailbox_empty: entry(422, "The mailbox has no messages to deliver"),
  mailbox_changed: entry(409, "Another turn has taken messages from the mailbox", true),
  subagents_limited: entry(429, "The limit of subagents is reached"),
  subagent_moved: entry(409, "The subagent has had another turn in the meantime", true),
  turn_not_continuable: entry(409, "The turn cannot be continued"),
  turn_in_use: entry(409, "The turn is needed"),
  turn_not_running: entry(409, "The turn is not running"),
  nothing_to_summarize: entry(409, "There is nothing to summarize"),
  summary_running: entry(409, "Another summary of this session is being made", true),
  question_not_open: entry(409, "The question is not open"),
  turn_not_finished: entry(409, "The turn is still running", true),
  pin_invalid: entry(422, "The passage cannot be pinned"),
  pins_too_large: entry(422, "The pinned passages are larger than the limit"),
  // Workspaces and devices
  workspace_invalid: entry(422, "The workspace id is not valid"),
  workspace_unknown: entry(404, "The workspace does not exist"),
  workspace_exists: entry(409, "A workspace with this id already exists"),
  workspace_damaged: entry(500, "The workspace is damaged"),
  workspace_busy: entry(503, "The workspace is in use", true),
  bindings_damaged: entry(500, "The file of device bindings is damaged"),
  device_refused: entry(403, "The device does not belong to the caller"),
  client_failed: entry(502, "The client failed to do what it had offered"),
  pairing_refused: entry(403, "The pairing code is wrong, used or expired"),
  sign_in_refused: entry(403, "The browser cannot be signed in with this"),
  transcript_invalid: entry(422, "The text cannot be read as a transcript"),
  transcript_changed: entry(412, "The transcript has changed since the caller read it"),
  // The run
  interrupted: entry(409, "The turn was interrupted before it had output"),
  runner_lost: entry(500, "The process that ran the turn has ended", true),
  retrieval_failed: entry(503, "Retrieval failed", true),
  history_unavailable: entry(500, "The history of the session could not be rebuilt"),
  context_window_exceeded: entry(422, "The history does not fit into the model's context window"),
  provider_unavailable: entry(502, "The provider cannot be reached, or it answered with a server error", true),
  provider_rate_limited: entry(429, "The provider limits the rate of requests", true),
  provider_quota_exhausted: entry(402, "The quota of the provider account is used up"),
  provider_rejected: entry(502, "The provider refused the request"),
  provider_refused_content: entry(422, "The provider refused the content"),
  provider_unauthenticated: entry(502, "The provider did not accept the key"),
  provider_stream_cut: entry(502, "The provider's answer was cut off", true),
  provider_answer_invalid: entry(502, "The provider's answer could not be parsed"),
  budget_exceeded: entry(402, "The next call of the model could pass a budget"),
  price_unknown: entry(422, "The price of the model is not known"),
  output_limit_reached: entry(422, "The output limit ended the answer before there was one"),
  chain_forgotten: entry(502, "The provider no longer has the earlier response"),
  // Stores
  blob_missing: entry(500, "A stored blob is missing"),
  blob_damaged: entry(500, "A stored blob is damaged"),
  blob_exists: entry(500, "A different blob already has this name"),
  blobs_unavailable: entry(503, "The S3 server does not answer", true),
  blobs_foreign: entry(500, "The blob store does not belong to these records"),
  records_refused: entry(500, "PostgreSQL refused the access to the records"),
  records_unavailable: entry(503, "PostgreSQL does not answer", true),
  records_damaged: entry(500, "Stored records are damaged"),
  records_lost: entry(500, "The records of these blobs are missing"),
  records_moved: entry(503, "The records are not where they were opened", true),
  garbage_doubtful: entry(409, "Most of what is stored would be deleted"),
  storage_full: entry(507, "The storage device is full", true),
  storage_failed: entry(500, "The store failed", true),
  data_newer: entry(500, "The data folder was written by a newer version"),
  index_missing: entry(503, "The repository has no index"),
  index_mismatch: entry(503, "The index was built with a different embedding model"),
  repository_invalid: entry(422, "The folder cannot be indexed"),
  // Set-up
  node_too_old: entry(500, "This Node is too old for the library"),
  config_invalid: entry(500, "The configuration is not valid"),
  address_unavailable: entry(500, "The server cannot listen on its address"),
  shutting_down: entry(503, "The server is shutting down", true),
  internal: entry(500, "An internal error occurred in aptove"),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

/** The only error that the program throws on purpose. `detail` states what failed and how to fix it. */
export class AptoveError extends Error {
  readonly code: ErrorCode;
  readonly detail: string;
  /** Facts for programs, for example `{ turnId }` of the running turn. Never a secret (E8). */
  readonly facts: Record<string, unknown>;

  constructor(code: ErrorCode, detail: string, options: { facts?: Record<string, unknown>; cause?: unknown } = {}) {
    super(`${errorCatalogue[code].title}: ${detail}`, { cause: options.cause });
    this.name = "AptoveError";
    this.code = code;
    this.detail = detail;
    this.facts = options.facts ?? {};
  }
}

/** A failure in the form that is stored with a turn and sent to clients (T4). */
export interface Failure {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  /** How long to wait before a retry, in seconds from the failure, if the provider or the store says so. Absent: nothing is known. */
  retryAfterSeconds?: number;
}

/** Returns the failure of a code; the catalogue decides whether it is retryable. */
export function failure(code: ErrorCode, message: string): Failure {
  return { code, message, retryable: errorCatalogue[code].retryable };
}

/** Converts any thrown value into a failure. A value that was not thrown on purpose becomes an `internal` error. */
export function failureOf(error: unknown): Failure {
  if (error instanceof AptoveError) {
    const { retryAfterSeconds } = error.facts;
    return {
      ...failure(error.code, error.detail),
      ...(typeof retryAfterSeconds === "number" && { retryAfterSeconds }),
    };
  }
  return failure("internal", error instanceof Error ? error.message : String(error));
}

export interface Warning {
  code: WarningCode;
  message: string;
}

/** Warnings that a turn records without being stopped by them. */
export type WarningCode =
  | "chain_rebuilt"
  | "prompt_changed"
  | "tools_changed"
  | "active_file_skipped"
  | "active_files_waiting"
  | "active_file_content_missing"
  | "rules_skipped"
  | "rules_cut"
  | "workspace_missing"
  | "facts_skipped"
  | "facts_forgotten"
  | "skills_skipped"
  | "skills_cut"
  | "retrieval_failed"
  | "index_missing"
  | "index_stale"
  | "document_split"
  | "document_not_searched"
  | "index_behind"
  | "open_calls_closed"
  | "reasoning_dropped"
  | "media_dropped"
  | "provider_retried"
  | "response_masked"
  | "usage_estimated"
  | "history_compacted"
  | "steer_undelivered"
  | "history_not_kept"
  | "budget_waits"
  | "live_log_unreadable"
  | "server_stopped"
  | "step_limit"
  | "setting_adjusted"
  | "mode_not_known"
  | "answer_truncated"
  | "answer_filtered"
  | "file_bundle_invalid";

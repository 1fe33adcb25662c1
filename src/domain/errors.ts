/**
 * The catalogue of errors. Each has a stable code, an HTTP status and a title; `docs/errors.md` lists the
 * same codes, and a check compares the two (H3). Doors translate codes by table and decide nothing.
 */

interface ErrorEntry {
  status: number;
  title: string;
  /** Whether the same request may succeed when it is sent again unchanged. */
  retryable: boolean;
}

function entry(status: number, title: string, retryable = false): ErrorEntry {
  return { status, title, retryable };
}

export const errorCatalogue = {
  // The request itself
  request_invalid: entry(400, "The request does not have the form that this route takes"),
  body_too_large: entry(413, "The request's body is larger than the limit"),
  instruction_empty: entry(422, "The instruction is empty"),
  instruction_too_large: entry(422, "The instruction is larger than the limit"),
  instruction_not_text: entry(422, "The instruction is not valid Unicode text"),
  context_unknown: entry(422, "The named context is not configured"),
  context_invalid: entry(422, "The context is not valid"),
  context_changed: entry(412, "The context changed since the caller saw it"),
  mode_unknown: entry(422, "The named mode is not configured"),
  provider_unknown: entry(422, "The named provider is not configured"),
  tool_invalid: entry(422, "A tool definition is not valid"),
  tool_choice_unknown: entry(422, "The forced tool is not among the tools"),
  tool_feedback_invalid: entry(422, "The tool results do not fit the calls that wait for them"),
  active_file_invalid: entry(422, "An active file cannot be taken"),
  too_many_active_files: entry(413, "There are more active files than the limit"),
  input_part_invalid: entry(422, "A part of the input cannot be taken"),
  input_part_unsupported: entry(422, "The model cannot take a part of the input"),
  input_too_large: entry(413, "The parts of the input are larger than the limit"),
  url_refused: entry(422, "The address is none that is read from here"),
  url_unavailable: entry(502, "The address could not be read", true),
  file_bundle_invalid: entry(422, "The file bundle is not valid"),
  file_bundle_conflict: entry(409, "A file changed since the bundle was made"),
  import_invalid: entry(422, "The file is not a whole export"),
  import_newer: entry(422, "The file was written by a newer version"),
  backup_invalid: entry(422, "The folder is not a backup that can be used"),
  import_conflict: entry(409, "What is imported contradicts what is here"),
  idempotency_key_reused: entry(422, "The idempotency key was used with another body"),
  event_id_unknown: entry(422, "The event id does not belong to this turn"),
  unsupported_media_type: entry(415, "The body's media type is not taken here"),
  // Who asks
  unauthenticated: entry(401, "A valid API key is needed"),
  identity_unavailable: entry(503, "The identity provider cannot be asked", true),
  forbidden: entry(403, "The caller's role does not allow this"),
  user_exists: entry(409, "Somebody of the org has this email or external id"),
  last_admin: entry(409, "The org would have no admin any more"),
  origin_refused: entry(403, "The request comes from an origin or host that is not allowed"),
  not_found: entry(404, "There is nothing here that the caller may see"),
  method_not_allowed: entry(405, "The path exists, but not with this method"),
  rate_limited: entry(429, "Too many requests", true),
  runs_limited: entry(429, "Too many turns are running", true),
  sessions_limited: entry(429, "Too many sessions are open on this connection", true),
  connections_limited: entry(429, "Too many connections are open", true),
  // Sessions and turns
  session_busy: entry(409, "Another turn of this session is running", true),
  session_archived: entry(409, "The session is archived and takes no turns"),
  head_moved: entry(409, "The session's head is no longer where the caller saw it", true),
  mailbox_empty: entry(422, "There is nothing in the mailbox to deliver"),
  mailbox_changed: entry(409, "Another turn took messages of the mailbox meanwhile", true),
  subagents_limited: entry(429, "There are as many subagents as the limit allows"),
  subagent_moved: entry(409, "The subagent got another turn meanwhile", true),
  turn_not_continuable: entry(409, "The turn cannot be continued"),
  turn_not_running: entry(409, "The turn is not running"),
  turn_not_finished: entry(409, "The turn is still running", true),
  // Workspaces and devices
  workspace_invalid: entry(422, "That is not the id of a workspace"),
  workspace_unknown: entry(404, "There is no such workspace"),
  workspace_exists: entry(409, "There is a workspace with this id"),
  workspace_damaged: entry(500, "A workspace is damaged"),
  workspace_busy: entry(503, "The workspace is in use", true),
  bindings_damaged: entry(500, "The bindings of devices are damaged"),
  device_refused: entry(403, "The device is not the caller's"),
  client_failed: entry(502, "The client could not do what it had offered"),
  pairing_refused: entry(403, "The pairing code is not valid, or not any more"),
  // The run
  interrupted: entry(409, "The turn was interrupted before it had output"),
  runner_lost: entry(500, "The process that ran the turn ended", true),
  retrieval_failed: entry(503, "Retrieval failed", true),
  history_unavailable: entry(500, "The history of the session could not be rebuilt"),
  context_window_exceeded: entry(422, "The history does not fit into the model's window"),
  provider_unavailable: entry(502, "The provider cannot be reached or answered with a fault of its own", true),
  provider_rate_limited: entry(429, "The provider limits the rate of requests", true),
  provider_quota_exhausted: entry(402, "The provider account's quota is used up"),
  provider_rejected: entry(502, "The provider refused the request"),
  provider_refused_content: entry(422, "The provider refused the content"),
  provider_unauthenticated: entry(502, "The provider did not accept the key"),
  provider_stream_cut: entry(502, "The provider's answer ended before it was complete", true),
  provider_answer_invalid: entry(502, "The provider's answer could not be understood"),
  chain_forgotten: entry(502, "The provider no longer knows the earlier response"),
  // Stores
  blob_missing: entry(500, "A stored blob is missing"),
  blob_damaged: entry(500, "A stored blob is damaged"),
  blob_exists: entry(500, "Another blob has this name"),
  blobs_foreign: entry(500, "The blobs are not those of the records"),
  storage_full: entry(507, "There is no room left on the device", true),
  storage_failed: entry(500, "The store failed", true),
  data_newer: entry(500, "The data folder was written by a newer version"),
  index_missing: entry(503, "The repository has no index"),
  index_mismatch: entry(503, "The index was built with another embedding model"),
  repository_invalid: entry(422, "The folder cannot be indexed"),
  // Set-up
  config_invalid: entry(500, "The configuration is not valid"),
  address_unavailable: entry(500, "The server cannot listen on its address"),
  shutting_down: entry(503, "The server is shutting down", true),
  internal: entry(500, "A fault in aptove itself"),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

/** The only error that the program throws on purpose. `detail` says what happened and names the mend. */
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

/** A failure as it is stored with a turn and sent on the wire (T4). */
export interface Failure {
  code: ErrorCode;
  message: string;
  retryable: boolean;
}

export function failure(code: ErrorCode, message: string): Failure {
  return { code, message, retryable: errorCatalogue[code].retryable };
}

/** Any thrown value as a failure; what was not thrown on purpose is a fault of our own. */
export function failureOf(error: unknown): Failure {
  if (error instanceof AptoveError) return failure(error.code, error.detail);
  return failure("internal", error instanceof Error ? error.message : String(error));
}

export interface Warning {
  code: WarningCode;
  message: string;
}

/** Things worth saying that do not stop a turn. */
export type WarningCode =
  | "chain_rebuilt"
  | "prompt_changed"
  | "tools_changed"
  | "active_file_skipped"
  | "active_file_content_missing"
  | "retrieval_failed"
  | "index_missing"
  | "index_stale"
  | "open_calls_closed"
  | "reasoning_dropped"
  | "media_dropped"
  | "provider_retried"
  | "usage_estimated"
  | "history_compacted"
  | "steer_undelivered"
  | "step_limit"
  | "file_bundle_invalid";

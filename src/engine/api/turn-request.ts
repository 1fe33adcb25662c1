/** The request for a turn (T6, T8, X1). */
import type { SessionStart } from "./sessions.ts";
import type { ActiveFile, WorkingCopy } from "../../domain/active-file.ts";
import type { Tool } from "../../tools/tool.ts";
import type { ToolCallView, ToolDefinition, ToolFeedback } from "../../domain/tool.ts";
import type { ConversationItem } from "../../domain/history.ts";
import type { ItemRef } from "../../domain/lineage.ts";
import type { StandingChoice } from "../../domain/session.ts";
import type { InputPart } from "../../domain/input-part.ts";
import type { ModelSettings, Surroundings } from "../../domain/context.ts";

/** A turn to run. A field that is left out takes its value from the session, else from the contexts. */
export interface TurnRequest
  extends TurnTarget, RequestedInput, RequestedContexts, RequestedTools, RequestedRetrieval, Surroundings {
  /** The workspace whose settings and transcript the turn uses. Default: the workspace of the session. */
  workspaceId?: string;
  /** True: the turn stores what it is given and calls no model, unless `compact` wants a summary. So a history can be extended and changed (O2). */
  withoutModel?: boolean;
  /** Items of the history that no model receives from this turn on. A call and its result are hidden together (T8, O2). */
  hides?: readonly ItemRef[];
  /** True: a client that sends its whole history finds the turn by it (O5). */
  isFindable?: boolean;
  /** The client's own data about the request. It is stored with the turn and returned, and the program never reads it. */
  clientData?: Record<string, unknown>;
  /** The fields of a new session. Ignored if the turn continues a session. */
  session?: Omit<
    SessionStart,
    "forkOf" | keyof StandingChoice | "workspaceId" | "repo" | "otherRepos" | "defaultLanguage"
  >;
  /**
   * A key that makes it safe to send the request again: the same key and the same request from the same user return the
   * turn that the first request made. Another request with the key throws `idempotency_key_reused` (T13).
   */
  idempotencyKey?: string;
  /**
   * Aborts when the caller no longer wants the turn. A request that still waits for another turn then leaves its line and throws
   * `interrupted`. A turn that was accepted goes on. Only an embedding program can give it; no wire format carries it.
   */
  withdrawn?: AbortSignal;
}

/**
 * The position of the new turn: one of `rerun`, `fork`, `after` and `sessionId`. `after` counts before `sessionId`; other pairs are refused. A
 * turn without any of them starts a new session.
 */
export interface TurnTarget {
  /** The session that the turn continues from its head. */
  sessionId?: string;
  /** Starts a new session whose first turn continues this one, which may be in any session that the caller may read (T6). */
  fork?: { turnId: string };
  /**
   * Continues this turn, wherever it is: in its session if it is the head there and no turn runs, otherwise as a fork. So it
   * is never refused because of another turn. A turn that is still running is waited for (O2).
   */
  after?: { turnId: string };
  /** Runs a turn again beside the old one, with the same parent. An empty instruction repeats the old one (T7). */
  rerun?: { turnId: string; asFork?: boolean | undefined };
  /**
   * Runs the newest turn of the session's agent again, whether or not it failed, beside the old one (T12). `sessionId` names
   * the session. An empty instruction repeats the old one.
   */
  retry?: boolean;
  /**
   * What happens if a turn of the session is running (T5). `refuse` (the default) throws `session_busy`. `queue` waits for
   * its end. `interrupt` stops it. `steer` sends the instruction to it as a message, and returns that turn.
   */
  ifBusy?: "refuse" | "queue" | "interrupt" | "steer";
  /** The head that the caller saw, or null if the session had none. If the head is another one, this throws `head_moved`. Default: any head. */
  expectedHead?: string | null;
  /** Delivers all messages that wait in the session's mailbox, each exactly once (A2). Throws `mailbox_empty` if there are none. */
  fire?: boolean;
}

/** What the person gives to the turn. */
export interface RequestedInput {
  /** The text for the model. It may be absent or empty only with `toolResults`, `earlier`, `rerun`, `retry` or `fire`. */
  instruction?: string;
  /**
   * The items of a conversation that took place elsewhere, oldest first. They become a part of the history. A result must
   * answer a call before it in this list. A call without a result is closed with one that says so (T8).
   */
  earlier?: readonly ConversationItem[];
  /**
   * Changes the old instruction that a rerun or retry without an instruction repeats: a door may have put words of its own
   * into it. Only an embedding program can give it.
   */
  repeatInstruction?: (old: string) => string;
  /** Texts, files, images and addresses that come with the instruction (I1). Texts are appended to the instruction. */
  input?: InputPart[];
  /** Answers to the tool calls that the head waits for (T9). */
  toolResults?: ToolFeedback[];
  /** The ids of calls in `toolResults` that are approved, of which such calls are allowed permanently in the workspace (P4). */
  alwaysAllow?: string[];
  /** Files that the person has open. The model receives those that have changed since they were last sent. */
  activeFiles?: ActiveFile[];
}

/** The contexts and the model of the turn. */
export interface RequestedContexts {
  agentContextId?: string;
  conversationContextId?: string;
  /** The id of a mode of the conversation context. Default: `ask`. */
  mode?: string;
  /** The name of a model, `<provider>/<model>`, or `context:<id>` (G3). */
  model?: string;
  /** Settings that replace those of the conversation context, one by one. */
  settings?: ModelSettings;
  /** True: the settings count for this turn alone. Otherwise a new session keeps them for its later turns (S9). */
  isSettingsOnce?: boolean;
  /**
   * What the caller tells the model for this turn alone, as a part of the boot prompt. It replaces the built-in boot prompt,
   * and follows one that the context configures. Later turns do not inherit it. An empty text only replaces (O4).
   */
  instructions?: string;
  /** Has the model summarise the whole history first, however short it is (C6). */
  compact?: boolean;
}

/** The tools of the turn, beside the configured ones. */
export interface RequestedTools {
  /** Tools that the client runs. A tool replaces one of the conversation context that has the same name (E4). */
  tools?: ToolDefinition[];
  /** The name of a tool that the model must call. */
  toolChoice?: string;
  /** True: the model must call one of the tools that it may call. */
  mustCallTool?: boolean;
  /** The names of the client's tools that the model may call; the others are only listed. Default: all of them. */
  allowedTools?: readonly string[];
  /** True: beside the client's tools, only those that the conversation context names are offered, and none of the engine (O4). */
  onlyNamedTools?: boolean;
  /**
   * Tools that run in this process, for this turn only. A tool replaces a configured one that has the same name. Only an
   * embedding program can give them; no wire format carries them.
   */
  ownTools?: readonly Tool[];
  /**
   * Decides without a person whether a call may run, for example because a person has allowed such calls permanently. Null:
   * a person must be asked. Only called if there is `askApproval` too. It must never reject.
   */
  decideApproval?: (question: ApprovalQuestion) => Promise<ApprovalAnswer | null>;
  /**
   * Asks a person, while the turn runs, whether a call may run. Null: this client cannot ask, or can no longer; the question
   * stays open until another client answers it (`Turns.answerQuestion`), or until the turn ends. It must never reject.
   * Without it, such a call ends the turn as `awaiting_tool_results` (V5).
   */
  askApproval?: (question: ApprovalQuestion) => Promise<ApprovalAnswer | null>;
  /** True: the client cannot show that a turn waits because of a budget, so such a turn fails (F11). */
  cannotWait?: boolean;
}

/** The part of the code that retrieval searches. */
export interface RequestedRetrieval {
  /** The repository whose index is searched. Null: nothing is searched. Default: the repository of the session. */
  repo?: string | null;
  /**
   * More repositories of a new session, in order (M7). In a later turn: what is known of these repositories of the session. In such a
   * session `repo` names the repository of `commit`, `workingCopy`, `place`, and of all paths without a name. Default: the first.
   */
  otherRepos?: readonly OtherRepository[];
  /** The commit of the caller's working copy. The turn warns if the index was made at another commit. */
  commit?: string;
  /**
   * The caller's working copy, or its folder on the engine's machine. The engine compares what the model has with the files
   * there (X6). A door must take a folder only from a caller who may read it. Null: there is nothing to compare with.
   * Default: the folder in which the session was started, for the people who run the server.
   */
  workingCopy?: string | WorkingCopy | null;
  /** What happens if the repository has no index: `fail` (the default) fails the turn, `warn` runs it without retrieval (Q5). */
  ifNotIndexed?: "fail" | "warn";
  /** The preferred programming language. Chunks in it rank higher; no chunk is left out. */
  language?: string;
  /** Searches only these files and folders. An empty list: everywhere. Default: what the workspace's configuration names. */
  pathPrefixes?: string[];
}

/** One of several repositories, with the same facts as those of the first. */
export interface OtherRepository extends Pick<RequestedRetrieval, "commit" | "workingCopy"> {
  repo: string;
}

/** A call that a person is asked to allow. */
export interface ApprovalQuestion {
  sessionId: string;
  turnId: string;
  callId: string;
  name: string;
  args: Record<string, unknown>;
  view: ToolCallView;
  /** Aborts when another client has answered, or when the turn is stopped. From then on the answer is ignored. */
  signal: AbortSignal;
}

/** `always`: such calls are allowed permanently in the workspace. A client that asks by a function does that itself. */
export type ApprovalAnswer = { approved: true; always?: boolean } | { approved: false; reason?: string };

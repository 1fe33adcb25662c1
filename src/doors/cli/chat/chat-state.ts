/** The state of a running chat. */
import type { AptoveClient, ExecuteRequest } from "../../../client/client.ts";
import type { ExitCode } from "../failure.ts";
import type { CliInvocation } from "../invocation.ts";
import type { ChatView } from "./chat-view.ts";
import type { ChatInput } from "./line-queue.ts";
import type { TurnOptions } from "../turn/turn-options.ts";
import type { ChatTools } from "./chat-tools.ts";

export interface ChatOptions extends TurnOptions {
  /** The workspace, of this machine or of the named server. */
  workspace?: string;
  /** True if `--resume` was given: the person chooses the session. */
  resume?: boolean;
  /** False if `--no-tools` was given. */
  tools?: boolean;
}

/** The parts that a chat is made of. They stay the same while it runs. */
export interface ChatParts {
  call: CliInvocation;
  client: AptoveClient;
  options: ChatOptions;
  lines: ChatInput;
  view: ChatView;
  /** The tools of the chat. Null if it offers none. */
  tools: ChatTools | null;
}

export interface ChatState extends ChatParts {
  /** The id of the workspace. Null at another server if none was named. */
  workspaceId: string | null;
  sessionId: string | null;
  lastTurnId: string | null;
  running: RunningChatTurn | null;
  subagents: SubagentWatch;
  /** Results of tools that ran and that no turn has received yet, because the chat was stopped in between. */
  unsent: CallResult[];
  spent: ChatUsage;
  /** The model that the person chose since the last turn. A rerun uses it. Null: none. */
  modelSet: string | null;
  /** True if the next turn begins with a summary of the history. */
  compactsNext: boolean;
  /** The words that Tab completes after /model. */
  modelNames: readonly string[];
  /** The codes of warnings that are shown once in a chat, and were. */
  notedWarnings: Set<string>;
  /** True if Ctrl-C was the last key. A second Ctrl-C leaves the chat. */
  isLeaving: boolean;
  hasLeft: boolean;
  /** The exit code that the last line alone would have. */
  lastExit: ExitCode;
}

/** A turn, or a tool of the chat, that Ctrl-C stops. */
export interface RunningChatTurn {
  interrupt: AbortController;
  /** The id of the turn. Null if it has none yet, or if a tool runs. */
  turnId: string | null;
  /** Steering messages that are being sent to the turn. */
  steers: Promise<void>[];
}

/** The subagents that turns of this chat started. */
export interface SubagentWatch {
  /** The ids of subagents' turns whose end was shown. */
  shownEnds: Set<string>;
  /** The names of subagents that have ended and were not reported yet. */
  unreported: string[];
  /** Aborts when the person leaves the chat. The subagents then continue without it, or end with its process. */
  left: AbortController;
}

export type CallResult = NonNullable<NonNullable<ExecuteRequest["toolResults"]>[number]>;

/** What the line above the prompt shows. */
export interface ChatUsage {
  /** The model that answered last. Null if none has answered yet. */
  model: string | null;
  /** The tokens of the last model call, input and output. The next call begins with them. */
  contextTokens: number;
  /** The price of the session in US dollars, as far as prices are known. */
  costUsd: number;
}

export const nothingSpent: ChatUsage = { model: null, contextTokens: 0, costUsd: 0 };

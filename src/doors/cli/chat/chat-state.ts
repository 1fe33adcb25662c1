/** What a chat knows while it goes on. */
import type { AptoveClient, ExecuteRequest } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import type { ChatView } from "./chat-view.ts";
import type { ChatInput } from "./line-queue.ts";
import type { TurnOptions } from "../turn/turn-options.ts";
import type { ChatTools } from "./chat-tools.ts";

export interface ChatOptions extends TurnOptions {
  /** A workspace of this machine, or of the server that is named. */
  workspace?: string;
  /** `--no-tools` makes it false. */
  tools?: boolean;
}

export interface ChatState {
  call: CliInvocation;
  client: AptoveClient;
  options: ChatOptions;
  lines: ChatInput;
  view: ChatView;
  /** Null: the chat brings none. */
  tools: ChatTools | null;
  /** Null: none, with another server of which none was named. */
  workspaceId: string | null;
  sessionId: string | null;
  lastTurnId: string | null;
  running: RunningChatTurn | null;
  subagents: SubagentWatch;
  /** Results of tools that ran, and that no turn was given yet: the chat was stopped in between. */
  unsent: CallResult[];
  spent: ChatUsage;
  /** Ctrl-C was the last thing that happened; a second one leaves. */
  isLeaving: boolean;
  hasLeft: boolean;
  lastFailed: boolean;
}

/** A turn, or a tool of the chat, that Ctrl-C stops. */
export interface RunningChatTurn {
  interrupt: AbortController;
  /** Null: it has none yet, or it is a tool. */
  turnId: string | null;
  /** Messages that are on their way to it. */
  steers: Promise<void>[];
}

/** Of those that a turn of this chat began. */
export interface SubagentWatch {
  /** Turns of which their end was told. */
  told: Set<string>;
  /** Names of those that ended meanwhile. */
  untold: string[];
  /** Aborts when the chat is left: they go on without it, or end with its process. */
  left: AbortController;
}

export type CallResult = NonNullable<NonNullable<ExecuteRequest["toolResults"]>[number]>;

/** For the line above the prompt. */
export interface ChatUsage {
  /** That answered last; null: none did yet. */
  model: string | null;
  /** Tokens of the last model call, in and out: what the next one begins with. */
  contextTokens: number;
  /** US dollars of the session, as far as prices are known. */
  costUsd: number;
}

export const nothingSpent: ChatUsage = { model: null, contextTokens: 0, costUsd: 0 };

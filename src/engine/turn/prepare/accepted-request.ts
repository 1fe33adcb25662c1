/** What a turn runs with: the request with every id looked up and every default filled in. */
import type { Caller } from "../../../domain/caller.ts";
import type {
  Mode,
  AgentContext,
  ConversationContext,
  ContextRef,
  ModelSettings,
  HistorySource,
} from "../../../domain/context.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import type { SubagentRef } from "../../../domain/subagent.ts";
import type { ToolFeedback } from "../../../domain/tool.ts";
import type { Provider } from "../../../providers/provider.ts";
import type { Retriever } from "../../../retrieval/retriever.ts";
import type { Tool } from "../../../tools/tool.ts";
import type { TurnRequest } from "../../engine.ts";
import type { DeliveredMessage } from "../request/mailbox-block.ts";
import type { ToolUse } from "../request/prompt.ts";
import type { CheckedFile } from "./check-files.ts";
import type { AcceptedPart } from "../kept/accepted-part.ts";

/** A request that is fit to run. */
export interface AcceptedRequest {
  caller: Caller;
  instruction: string;
  /** What comes with the instruction, its texts left out (I1). */
  input: AcceptedPart[];
  /** What `read_input` reads, by name: of the history, and of this turn once its parts have their places. */
  readable: Map<string, PartRef>;
  toolResults: ToolFeedback[];
  files: CheckedFile[];
  mode: Mode;
  agentContext: AgentContext;
  conversationContext: ConversationContext;
  /** Both as a manifest keeps them. */
  contextRefs: { agentContext: ContextRef; conversationContext: ContextRef };
  provider: Provider;
  retriever: Retriever | undefined;
  model: string;
  settings: ModelSettings;
  /** How the context wants its history: a provider without a memory always gets it whole (C1). */
  history: Exclude<HistorySource, "none">;
  prompt: string;
  promptHash: string;
  toolUse: ToolUse;
  /** The subagent whose turn it is; null: the agent of the session. Nobody can be asked about its calls (A1). */
  subagent: SubagentRef | null;
  /** What the mailbox has for the turn (A2). */
  mail: readonly DeliveredMessage[];
  /** Null: nobody can be asked at once. */
  askApproval: TurnRequest["askApproval"] | null;
  /** The offered tools that run beside the engine; all others are the client's. */
  serverTools: ReadonlyMap<string, Tool>;
  toolsHash: string;
  workspaceId: string | null;
  repo: string | null;
  /** Where the asker's working copy stands; null: nobody said. */
  commit: string | null;
  ifNotIndexed: "fail" | "warn";
  language: string | null;
  pathPrefixes: string[];
}

/** What a turn runs with: the request after every id was looked up and every default filled in. */
import type { Caller } from "../../../domain/caller.ts";
import type {
  AgentContext,
  ContextRef,
  ConversationContext,
  HistorySource,
  Mode,
  ModelSettings,
  Place,
} from "../../../domain/context.ts";
import type { Memory } from "../../../domain/fact.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import type { ItemRef } from "../../../domain/lineage.ts";
import type { Pin } from "../../../domain/pin.ts";
import type { StandingChoice } from "../../../domain/session.ts";
import type { SubagentRef } from "../../../domain/subagent.ts";
import type { ToolFeedback } from "../../../domain/tool.ts";
import type { Provider } from "../../../providers/provider.ts";
import type { Retriever } from "../../../retrieval/retriever.ts";
import type { PathNames } from "../../../domain/repositories.ts";
import type { Tool } from "../../../tools/tool.ts";
import type { TurnRequest } from "../../engine.ts";
import type { AcceptedPart } from "../kept/accepted-part.ts";
import type { KeptRules } from "../kept/kept-rules.ts";
import type { DeliveredMessage } from "../request/mailbox-block.ts";
import type { ToolUse } from "../request/prompt.ts";
import type { BoundedRules } from "../request/rules-block.ts";
import type { AskedBeside } from "../kept/turn-blobs.ts";
import type { RepositoryScope } from "./accept-repositories.ts";
import type { CheckedFile } from "./gathered/check-files.ts";
import type { ClientTools } from "./client-tools.ts";
import type { EarlierItem } from "./earlier.ts";
import type { TurnSkills } from "./skills.ts";

/** A request that was checked and can run. */
export interface AcceptedRequest extends AcceptedInput, ChosenContexts, ModelChoice, OfferedTools {
  caller: Caller;
  workspaceId: string | null;
  /** The same id if this server has no such workspace, although it is no label (W1). Null: it has, or the id is a label. */
  missingWorkspace: string | null;
  /** The subagent whose turn this is. Null for a turn of the session's agent. */
  subagent: SubagentRef | null;
  /** True if the turn only stores what it is given. */
  withoutModel: boolean;
  /** The pins of the session (M6). */
  pins: readonly Pin[];
  /** The items of the history that this turn hides. */
  hides: ItemRef[];
  /** The messages of the session's mailbox that this turn delivers (A2). */
  mail: readonly DeliveredMessage[];
  retrieval: RetrievalScope;
  /** The rules of the repository, where the session works, and its skills (M1, M2, M4). */
  surroundings: AcceptedSurroundings;
  /** The memory of the workspace (M3). Null: the turn has none. */
  memory: AcceptedMemory | null;
}

/** The memory of the workspace of a turn (M3). */
export interface AcceptedMemory extends Memory {
  workspaceId: string;
}

/** What is known of the surroundings of the turn (M1, M2, M4). */
export interface AcceptedSurroundings {
  /** The rules of the boot prompt, which are those of the session's start (E6). Null: it has none. */
  rules: KeptRules | null;
  /** The rules as they are now. Null: unknown. */
  now: BoundedRules | null;
  /** Null: unknown. */
  place: Place | null;
  /** True if the conversation begins with this turn. */
  isBeginning: boolean;
  /** The repositories of a session about several whose rules are unknown, so that none of them is gone (M7). */
  unknownIn: readonly string[];
  /** The skills that the model may read. */
  skills: TurnSkills;
}

/** What the person gave to the turn. */
export interface AcceptedInput {
  /** The instruction, with the text parts of the input appended to it. */
  instruction: string;
  /** The earlier items. */
  earlier: readonly EarlierItem[];
  /** The parts of the input that are not text (I1). Those of `earlier` come first, then those of `toolResults`. */
  input: AcceptedPart[];
  /** Answers to the tool calls that the parent turn waits for (T9). */
  toolResults: ToolFeedback<never>[];
  /** How many images and documents came with each of these answers. */
  resultMedia: readonly number[];
  files: CheckedFile[];
  /** What the request asked for and only the opening keeps (T7). */
  asked: AskedBeside;
}

/** The contexts that count for the turn, and what follows from them alone. */
export interface ChosenContexts {
  agentContext: AgentContext;
  conversationContext: ConversationContext;
  /** References to both contexts, as the manifest keeps them. */
  contextRefs: { agentContext: ContextRef; conversationContext: ContextRef };
  mode: Mode;
  /** What a new session keeps of the choice, for its later turns (S9). */
  forSession: StandingChoice;
  /** The text of the system message. */
  prompt: string;
  promptHash: string;
}

/** The model that answers, and how it is called. */
export interface ModelChoice {
  provider: Provider;
  model: string;
  settings: ModelSettings;
  /** How the history is sent. A provider without a memory always receives the whole history (C1). */
  history: Exclude<HistorySource, "none">;
  /** True if the person wants the whole history to be summarised first (C6). */
  compacts: boolean;
}

/** The tools that the model may call, and how their calls are carried out. */
export interface OfferedTools {
  toolUse: ToolUse & { mustCall: boolean };
  clientTools: ClientTools;
  toolsHash: string;
  /** The offered tools that run beside the engine, by name. The client runs all others. */
  serverTools: ReadonlyMap<string, Tool>;
  /**
   * The input parts that the tool `read_input` can read, by name: those of the history, and those of this turn once
   * they have their blobs.
   */
  readable: Map<string, PartRef>;
  /** Asks a person whether a call may run. Null if no person can be asked while the turn runs. */
  askApproval: NonNullable<TurnRequest["askApproval"]> | null;
  /** Decides about a call without a person, if that is possible. */
  decideApproval: NonNullable<TurnRequest["decideApproval"]> | null;
  /** True if the turn fails where it would wait for a person because of a budget. */
  cannotWait: boolean;
}

/** The part of the code that retrieval searches, and what happens if it cannot. */
export interface RetrievalScope {
  /** Undefined if the agent context names an index that is not configured. */
  retriever: Retriever | undefined;
  policy: ConversationContext["retrieval"];
  orgId: string;
  /** The first repository that is searched. Null: nothing is searched. */
  repo: string | null;
  /** The repositories of the session. If there are several, all are searched, and `repo` is the first (M7). */
  repositories: readonly RepositoryScope[];
  /** How paths are read. */
  paths: PathNames;
  ifNotIndexed: "fail" | "warn";
  language: string | null;
  pathPrefixes: string[];
  /** The folders of skills, with a slash at the end. The model reads them when it needs them, so no search finds them (M4). */
  leftOut: readonly string[];
}

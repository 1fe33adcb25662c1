/**
 * Turns what a caller asks into what the engine runs: every id looked up, every default filled in, every
 * fault refused before anything is written. Which value counts: request, then session, then default (G2).
 */
import type { Caller } from "../domain/caller.ts";
import type {
  AgentContext,
  ContextRef,
  ConversationContext,
  HistorySource,
  Mode,
  ModelSettings,
} from "../domain/context.ts";
import { AptoveError } from "../domain/errors.ts";
import { sha256 } from "../domain/ids.ts";
import type { PartRef } from "../domain/input-part.ts";
import { limits } from "../domain/limits.ts";
import type { Session } from "../domain/session.ts";
import type { SubagentRef } from "../domain/subagent.ts";
import type { ToolDefinition, ToolFeedback } from "../domain/tool.ts";
import type { Provider } from "../providers/provider.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import type { Tool } from "../tools/tool.ts";
import { ownsWorkspaces, workspaceFor } from "./access.ts";
import type { TurnRequest } from "./engine.ts";
import { checkFiles, type CheckedFile } from "./gather.ts";
import type { EngineParts, WorkspaceSettings } from "./parts.ts";
import { isReadable, readParts, withTexts, type AcceptedPart } from "./input-parts.ts";
import { inputTool } from "./input-tool.ts";
import { knownContexts } from "./known-contexts.ts";
import type { DeliveredMessage } from "./request/mailbox-block.ts";
import { checkInstruction } from "./request/envelope.ts";
import { bootPrompt, mergeTools, toolsHash, toolUse, type ToolUse } from "./request/prompt.ts";

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

export interface AcceptInput {
  caller: Caller;
  request: TurnRequest;
  /** Whose contexts, workspace and repository count where the request names none. */
  session: Session | null;
  /** Of a subagent's turn: the tools of the request are all that it has. */
  subagent?: SubagentRef;
  mail?: readonly DeliveredMessage[];
  subagentTools: readonly Tool[];
  /** Parts of the history's inputs that can be read, by name. */
  inherited: ReadonlyMap<string, PartRef>;
}

export async function acceptRequest(
  parts: EngineParts,
  { caller, request, session, subagent, mail = [], subagentTools, inherited }: AcceptInput,
): Promise<AcceptedRequest> {
  if (caller.role === "reader")
    throw new AptoveError("forbidden", "a reader may not run turns; ask an admin of the org for another role");
  const instruction = withTexts(request.instruction, request.input ?? []);
  checkInstruction(instruction, (request.toolResults ?? []).length > 0);
  checkFeedback(request.toolResults ?? []);
  const workspaceId = workspaceFor(caller, request.workspaceId ?? session?.workspaceId);
  const settings = await settingsOf(parts, caller, workspaceId);
  const known = await knownContexts(parts, caller, settings);
  const { agentContext, conversationContext } = resolveContexts(known, request, session);
  const provider = await providerOf(settings, agentContext);
  const mode = named("mode", conversationContext.modes, request.mode ?? "ask");
  const model = request.model ?? conversationContext.model ?? provider.defaultModel;
  const input = await readParts(request.input ?? [], { provider, model, urls: parts.urls });
  const readable = new Map(inherited);
  const forSubagents = mayBeginSubagents(conversationContext, subagent) ? subagentTools : [];
  const forInput = readable.size > 0 || input.some(isReadable) ? [inputTool(parts.blobs, readable)] : [];
  const configured = subagent === undefined ? parts.tools : [];
  const own = [...configured, ...forInput, ...(request.ownTools ?? []), ...forSubagents];
  const serverTools = ownTools(own, request.tools ?? []);
  // A subagent has no client that could answer calls.
  const clientTools = subagent === undefined ? conversationContext.tools : [];
  const defaults = [...[...serverTools.values()].map((tool) => tool.definition), ...clientTools];
  const tools = mergeTools(defaults, request.tools ?? []);
  const prompt = bootPrompt(conversationContext);
  return {
    caller,
    instruction,
    input,
    readable,
    toolResults: request.toolResults ?? [],
    files: checkFiles(request.activeFiles ?? []),
    mode,
    agentContext,
    conversationContext,
    contextRefs: {
      agentContext: known.refOf("agent", agentContext),
      conversationContext: known.refOf("conversation", conversationContext),
    },
    provider,
    retriever: parts.retrievers.get(agentContext.index),
    model,
    settings: { ...conversationContext.settings, ...request.settings },
    history: provider.remembers ? (conversationContext.history ?? "chain") : "replay",
    prompt,
    promptHash: sha256(prompt),
    toolUse: toolUse(tools, mode, request.toolChoice),
    subagent: subagent ?? null,
    mail,
    askApproval: request.askApproval ?? null,
    serverTools,
    toolsHash: toolsHash(tools),
    workspaceId,
    repo: request.repo === undefined ? (session?.repo ?? null) : request.repo,
    commit: request.commit ?? null,
    ifNotIndexed: request.ifNotIndexed ?? "fail",
    language: request.language ?? session?.defaultLanguage ?? null,
    pathPrefixes: request.pathPrefixes ?? [],
  };
}

/** Bounded depth: what may not begin others is not offered the tools for it (A1). */
function mayBeginSubagents({ subagents }: ConversationContext, subagent: SubagentRef | undefined): boolean {
  return subagents === true && (subagent?.level ?? 0) < limits.subagentLevelsMax;
}

/** What counts in the workspace of a request; what the engine was made with where it has none (W7). */
export async function settingsOf(
  parts: EngineParts,
  caller: Caller,
  workspaceId: string | null,
): Promise<WorkspaceSettings> {
  const own = workspaceId === null || !ownsWorkspaces(caller) ? null : await parts.workspaces?.settings(workspaceId);
  return own ?? parts;
}

async function providerOf({ providers }: WorkspaceSettings, agentContext: AgentContext): Promise<Provider> {
  const provider = await providers.get(agentContext.provider);
  if (provider !== undefined) return provider;
  throw new AptoveError(
    "provider_unknown",
    `agent context "${agentContext.id}" names the provider "${agentContext.provider}"; configured are: ${quoted(providers.keys())}`,
  );
}

/** G2: an unknown id is refused by naming the known ones. */
export function resolveContexts(
  known: Omit<WorkspaceSettings, "providers">,
  request: { agentContextId?: string; conversationContextId?: string },
  session: Session | null,
): { agentContext: AgentContext; conversationContext: ConversationContext } {
  const { agentContextId = "default", conversationContextId = "default" } = known.defaults ?? {};
  const agentId = request.agentContextId ?? session?.agentContextId ?? agentContextId;
  const conversationId = request.conversationContextId ?? session?.conversationContextId ?? conversationContextId;
  return {
    agentContext: named("agent context", known.agentContexts, agentId),
    conversationContext: named("conversation context", known.conversationContexts, conversationId),
  };
}

function named<T extends { id: string }>(
  kind: "mode" | "agent context" | "conversation context",
  all: readonly T[],
  id: string,
): T {
  const found = all.find((one) => one.id === id);
  if (found !== undefined) return found;
  const code = kind === "mode" ? "mode_unknown" : "context_unknown";
  throw new AptoveError(code, `there is no ${kind} "${id}"; known are: ${quoted(all.map((one) => one.id))}`);
}

function quoted(names: Iterable<string>): string {
  return [...names].map((name) => `"${name}"`).join(", ") || "none";
}

/** Of several with one name the last counts. Of a tool that the request defines anew, the request's, and it is the client's (E4). */
function ownTools(tools: readonly Tool[], requested: readonly ToolDefinition[]): Map<string, Tool> {
  const redefined = new Set(requested.map((tool) => tool.name));
  const own = tools.filter((tool) => !redefined.has(tool.definition.name));
  return new Map(own.map((tool) => [tool.definition.name, tool]));
}

function checkFeedback(feedback: readonly ToolFeedback[]): void {
  for (const answer of feedback) {
    if ("approved" in answer) continue;
    const { callId, output } = answer;
    const bytes = Buffer.byteLength(output);
    if (bytes > limits.toolOutputBytesMax) {
      const detail = `the result of "${callId}" has ${bytes} bytes and may have ${limits.toolOutputBytesMax}`;
      throw new AptoveError("tool_feedback_invalid", detail);
    }
  }
}

/** T13: what makes two requests the same one. Contents of files count by their hash. */
export function requestHash(request: TurnRequest): string {
  const { idempotencyKey: _key, activeFiles, input, ...rest } = request;
  const files = (activeFiles ?? []).map(({ path, content, sha256: hash, isTouched }) => ({
    path,
    hash: content === null ? hash : sha256(content),
    isTouched,
  }));
  const parts = input?.map((part) =>
    "content" in part && part.content !== undefined ? { ...part, content: sha256(part.content) } : part,
  );
  return sha256(canonicalJson({ ...rest, files, ...(parts !== undefined && { input: parts }) }));
}

/** JSON with sorted keys, so that the order in which a client wrote its fields does not count. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

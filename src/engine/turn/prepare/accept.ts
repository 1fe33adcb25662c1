/**
 * Turns what a caller asks into what the engine runs: every id looked up, every default filled in, every
 * fault refused before anything is written. Which value counts: request, then session, then default (G2).
 */
import type { Caller } from "../../../domain/caller.ts";
import type { AgentContext, ConversationContext } from "../../../domain/context.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { sha256 } from "../../../domain/ids.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import { limits } from "../../../domain/limits.ts";
import type { Session } from "../../../domain/session.ts";
import type { SubagentRef } from "../../../domain/subagent.ts";
import type { ToolDefinition, ToolFeedback } from "../../../domain/tool.ts";
import type { Provider } from "../../../providers/provider.ts";
import type { Tool } from "../../../tools/tool.ts";
import { workspaceFor } from "../../access/access.ts";
import type { TurnRequest } from "../../engine.ts";
import { checkFiles } from "./check-files.ts";
import type { EngineDependencies, WorkspaceSettings } from "../../dependencies.ts";
import { readParts, withTexts } from "./input-parts.ts";
import { isReadable } from "../kept/accepted-part.ts";
import { inputTool } from "./input-tool.ts";
import { knownContexts } from "../../contexts/known-contexts.ts";
import type { DeliveredMessage } from "../request/mailbox-block.ts";
import { checkInstruction } from "../request/envelope.ts";
import { bootPrompt, mergeTools, toolsHash, toolUse } from "../request/prompt.ts";
import { resolveContexts, settingsOf, named, quoted } from "../../contexts/resolve-contexts.ts";
import type { AcceptedRequest } from "./accepted-request.ts";

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
  deps: EngineDependencies,
  { caller, request, session, subagent, mail = [], subagentTools, inherited }: AcceptInput,
): Promise<AcceptedRequest> {
  if (caller.role === "reader")
    throw new AptoveError("forbidden", "a reader may not run turns; ask an admin of the org for another role");
  const instruction = withTexts(request.instruction, request.input ?? []);
  checkInstruction(instruction, (request.toolResults ?? []).length > 0);
  checkFeedback(request.toolResults ?? []);
  const workspaceId = workspaceFor(caller, request.workspaceId ?? session?.workspaceId);
  const settings = await settingsOf(deps, caller, workspaceId);
  const known = await knownContexts(deps, caller, settings);
  const { agentContext, conversationContext } = resolveContexts(known, request, session);
  const provider = await providerOf(settings, agentContext);
  const mode = named("mode", conversationContext.modes, request.mode ?? "ask");
  const model = request.model ?? conversationContext.model ?? provider.defaultModel;
  const input = await readParts(request.input ?? [], { provider, model, urls: deps.urls });
  const readable = new Map(inherited);
  const forSubagents = mayBeginSubagents(conversationContext, subagent) ? subagentTools : [];
  const forInput = readable.size > 0 || input.some(isReadable) ? [inputTool(deps.blobs, readable)] : [];
  const configured = subagent === undefined ? deps.tools : [];
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
    retriever: deps.retrievers.get(agentContext.index),
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

async function providerOf({ providers }: WorkspaceSettings, agentContext: AgentContext): Promise<Provider> {
  const provider = await providers.get(agentContext.provider);
  if (provider !== undefined) return provider;
  throw new AptoveError(
    "provider_unknown",
    `agent context "${agentContext.id}" names the provider "${agentContext.provider}"; configured are: ${quoted(providers.keys())}`,
  );
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

/**
 * Accepts a request: looks up every id, fills in every default, and refuses every fault before anything is written. A
 * value comes from the request, then from the session, then from the defaults (G2).
 */
import type { Caller } from "../../../domain/caller.ts";
import type { AgentContext, ContextVersionFacts, ConversationContext } from "../../../domain/context.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { givenName } from "../../../domain/given-name.ts";
import { sha256 } from "../../../domain/ids.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import { limits } from "../../../domain/limits.ts";
import { modelInfo, modelsOf } from "../../../domain/models.ts";
import { sessionPath, type PathNames } from "../../../domain/repositories.ts";
import type { Session } from "../../../domain/session.ts";
import type { SubagentRef } from "../../../domain/subagent.ts";
import type { ToolDefinition, ToolFeedback } from "../../../domain/tool.ts";
import type { Provider } from "../../../providers/provider.ts";
import type { Tool } from "../../../tools/tool.ts";
import { workspaceFor, workspaceOfNew } from "../../access/access.ts";
import type { TurnRequest } from "../../engine.ts";
import { acceptRepositories } from "./accept-repositories.ts";
import { checkFiles } from "./gathered/check-files.ts";
import type { EngineDependencies, WorkspaceSettings } from "../../dependencies.ts";
import { readParts, withLongTexts, withTexts } from "./input-parts.ts";
import type { AskedBeside } from "../kept/turn-blobs.ts";
import type { ClientTools } from "./client-tools.ts";
import { isReadable, type AcceptedPart } from "../kept/accepted-part.ts";
import { inputTool } from "./input-tool.ts";
import { acceptMemory } from "./facts/turn-memory.ts";
import { memoryTool } from "./facts/memory-tool.ts";
import { acceptSurroundings } from "./surroundings.ts";
import type { KeptRules } from "../kept/kept-rules.ts";
import { knownContexts } from "../../contexts/known-contexts.ts";
import { missingWorkspace } from "../../contexts/missing-workspace.ts";
import type { DeliveredMessage } from "../request/mailbox-block.ts";
import { checkInstruction } from "../request/envelope.ts";
import {
  bootPrompt,
  mergeTools,
  repositoriesSection,
  toolsHash,
  toolUse,
  withInstructions,
} from "../request/prompt.ts";
import { acceptEarlier } from "./earlier.ts";
import { noModel } from "./no-model.ts";
import { skillFoldersOf, skillTool, type TurnSkills } from "./skills.ts";
import { withProviderContexts } from "../../contexts/model-words.ts";
import { modeOf, settingsOf, quoted } from "../../contexts/resolve-contexts.ts";
import { changedChoice, contextsAlone, meaningOf, standingChoice } from "../../contexts/session-choice.ts";
import type {
  AcceptedMemory,
  AcceptedRequest,
  AcceptedSurroundings,
  ChosenContexts,
  ModelChoice,
  OfferedTools,
} from "./accepted-request.ts";

export interface AcceptInput {
  caller: Caller;
  request: TurnRequest;
  /** The session whose contexts, workspace and repository count if the request names none. */
  session: Session | null;
  /** The request as the caller sent it, if the turn repeats another one. `request` then has what that turn asked for. */
  given?: TurnRequest;
  /** The subagent whose turn this is. It has only the tools of the request. */
  subagent?: SubagentRef;
  mail?: readonly DeliveredMessage[];
  subagentTools: readonly Tool[];
  /** The input parts of the history that can be read, by name. */
  inherited: ReadonlyMap<string, PartRef>;
  /** The rules of the boot prompt so far (M1). Undefined: the conversation begins. */
  keptRules: KeptRules | null | undefined;
  clientTools: ClientTools;
  /** The skills of a subagent, which are its spawner's (M4). Absent: they are looked for. */
  skills?: TurnSkills;
  /** The newest versions of the org's contexts, read since the request came. Absent: they are read now. */
  newestContexts?: Promise<ContextVersionFacts[]>;
}

type ContextChoice = Omit<ChosenContexts, "prompt" | "promptHash">;

/** Accepts a request or throws. Nothing is written here, so that a refused request leaves nothing behind. */
export async function acceptRequest(deps: EngineDependencies, asked: AcceptInput): Promise<AcceptedRequest> {
  const { caller, request, session, subagent } = asked;
  if (caller.role === "reader")
    throw new AptoveError("forbidden", "a reader may not run turns; ask an admin of the org for another role");
  const newName = (asked.given ?? request).session?.name;
  if (newName !== undefined) givenName(newName);
  const workspaceId =
    session === null
      ? workspaceOfNew(caller, request.workspaceId)
      : workspaceFor(caller, request.workspaceId ?? session.workspaceId);
  const settings = await settingsOf(deps, caller, workspaceId);
  const { contexts, model } = await chooseModel(deps, asked, settings);
  const window = deps.contextTokens(model.model);
  const given = withLongTexts(request.input ?? [], window);
  const instruction = checkedInstruction({ ...request, input: given });
  const retriever = deps.retrievers.get(contexts.agentContext.index);
  const { paths, folders, repositories } = await acceptRepositories(deps, asked, retriever);
  const memory = await acceptMemory(deps, { caller, workspaceId, context: contexts.conversationContext });
  const around = { paths, folders, workspaceId, context: contexts.conversationContext };
  const surroundings = await acceptSurroundings(deps, asked, around);
  // What applies to every workspace applies to no turn outside of them.
  const { scopePaths = [] } = settings === deps ? {} : settings;
  const reading = { ...model, window, urls: deps.urls };
  const earlier = await acceptEarlier(request.earlier ?? [], reading);
  const input = [...earlier.parts, ...(await readParts(given, reading))];
  const files = checkFiles(request.activeFiles ?? [], paths);
  return {
    instruction,
    earlier: earlier.items,
    input,
    toolResults: request.toolResults ?? [],
    files,
    asked: { ...askedBeside(asked), ...placeOfInstructions(contexts, request) },
    ...contexts,
    ...promptOf(contexts, { surroundings, paths }, request),
    ...model,
    // A summary needs the model.
    ...(request.withoutModel === true && !model.compacts && noModel),
    withoutModel: request.withoutModel === true,
    pins: session?.pins ?? [],
    hides: [...(request.hides ?? [])],
    surroundings,
    memory,
    ...offerTools(deps, asked, { contexts, input, memory, skills: surroundings.skills }),
    caller,
    workspaceId,
    missingWorkspace: missingWorkspace(deps, { caller, workspaceId, settings }),
    subagent: subagent ?? null,
    mail: asked.mail ?? [],
    retrieval: {
      retriever,
      policy: contexts.conversationContext.retrieval,
      orgId: caller.orgId,
      repo: request.repo === null ? null : (repositories[0]?.repo ?? null),
      repositories,
      paths,
      ifNotIndexed: request.ifNotIndexed ?? "fail",
      language: request.language ?? session?.defaultLanguage ?? null,
      pathPrefixes: [...(request.pathPrefixes ?? scopePaths)],
      leftOut: skillFoldersOf(surroundings.skills).map((folder) => sessionPath(paths, folder)),
    },
  };
}

/** Returns the system message with the rules of the repository. */
function promptOf(
  { conversationContext }: ContextChoice,
  { surroundings: { rules }, paths }: { surroundings: AcceptedSurroundings; paths: PathNames },
  { instructions }: TurnRequest,
): Pick<ChosenContexts, "prompt" | "promptHash"> {
  const context = withInstructions(conversationContext, instructions);
  const prompt = bootPrompt(context, repositoriesSection(paths.names), rules?.section ?? "");
  return { prompt, promptHash: sha256(prompt) };
}

/** Returns where the request's own instructions are in the boot prompt, so that they are stored once for all turns. */
function placeOfInstructions(
  { conversationContext }: ContextChoice,
  { instructions }: TurnRequest,
): Pick<AskedBeside, "instructionsAt"> {
  if (instructions === undefined) return {};
  const to = withInstructions(conversationContext, instructions).bootPrompt.length;
  return { instructionsAt: { from: to - instructions.length, to } };
}

function askedBeside({ request, clientTools }: AcceptInput): AskedBeside {
  const { language, pathPrefixes, toolChoice, allowedTools, mustCallTool, onlyNamedTools, clientData } = request;
  return {
    ...(language !== undefined && { language }),
    ...(pathPrefixes !== undefined && { pathPrefixes: [...pathPrefixes] }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(allowedTools !== undefined && { allowedTools: [...allowedTools] }),
    ...(mustCallTool === true && { mustCallTool }),
    ...(onlyNamedTools === true && { onlyNamedTools }),
    ...(clientData !== undefined && { clientData }),
    ...(!clientTools.mayCall && { onlyListsTools: true as const }),
  };
}

/** Returns the instruction with the text parts of the input. Throws if it, or a tool result, cannot be sent. */
function checkedInstruction({
  instruction = "",
  input = [],
  toolResults = [],
  earlier = [],
  withoutModel,
}: TurnRequest): string {
  const text = withTexts(instruction, input);
  const hasMore = toolResults.length > 0 || earlier.length > 0 || input.some(({ type }) => type !== "text");
  checkInstruction(text, hasMore || withoutModel === true);
  checkFeedback(toolResults);
  return text;
}

/** Looks up the contexts that count, and the model that they or the request name. */
async function chooseModel(
  deps: EngineDependencies,
  { caller, request, session, given, newestContexts }: AcceptInput,
  settings: WorkspaceSettings,
): Promise<{ contexts: ContextChoice; model: ModelChoice }> {
  const known = await knownContexts({ records: deps.records, newestContexts }, caller, withProviderContexts(settings));
  const standing = standingChoice(known, session);
  // A repeated turn asks for everything that it had, so nothing that was chosen since then is added (T7).
  const choice = changedChoice(known, given === undefined ? standing : contextsAlone(standing), request);
  const kept = given === undefined ? choice : changedChoice(known, standing, given);
  const forSession = request.isSettingsOnce === true ? { ...kept, settings: standing.settings } : kept;
  const { agentContext, conversationContext, model: chosen } = meaningOf(known, choice);
  const provider = await providerOf(settings, agentContext);
  const mode = modeOf(conversationContext, request.mode ?? "ask");
  const contextRefs = {
    agentContext: known.refOf("agent", agentContext),
    conversationContext: known.refOf("conversation", conversationContext),
  };
  const model: ModelChoice = {
    provider,
    model: chosen === undefined ? modelOf(conversationContext, provider) : chosenOf(provider, chosen),
    settings: { ...conversationContext.settings, ...choice.settings },
    history: provider.remembers && deps.isReplayOnly !== true ? (conversationContext.history ?? "chain") : "replay",
    compacts: request.compact === true,
  };
  return { contexts: { agentContext, conversationContext, contextRefs, mode, forSession }, model };
}

/** The model of a conversation context belongs to one provider. Another provider's own default counts there. */
export function modelOf({ model }: ConversationContext, provider: Provider): string {
  const owner = model === null ? undefined : modelInfo(model)?.provider;
  const isOthers = owner !== undefined && owner !== provider.name && modelsOf(provider.name).length > 0;
  return isOthers ? provider.defaultModel : (model ?? provider.defaultModel);
}

/** An answer of the offline model must not pass for one of another model (G3, L3). Throws `provider_unknown`. */
function chosenOf(provider: Provider, model: string): string {
  if (provider.isFree !== true || model === provider.defaultModel) return model;
  const detail = `${JSON.stringify(model)} needs the key of a provider: aptove login; without one only ${JSON.stringify(provider.defaultModel)} answers`;
  throw new AptoveError("provider_unknown", detail);
}

interface OfferedBeside {
  contexts: ContextChoice;
  input: readonly AcceptedPart[];
  skills: TurnSkills;
  memory: AcceptedMemory | null;
}

/** Collects the tools of the engine, the context, the request and the turn itself. Throws `tool_invalid`, `tool_choice_unknown`. */
function offerTools(
  deps: EngineDependencies,
  { request, subagent, subagentTools, inherited, clientTools: given }: AcceptInput,
  { contexts: { conversationContext, mode }, input, memory, skills }: OfferedBeside,
): OfferedTools {
  const readable = new Map(inherited);
  const forSubagents = mayBeginSubagents(conversationContext, subagent) ? subagentTools : [];
  const forInput = readable.size > 0 || input.some(isReadable) ? [inputTool(deps.blobs, readable)] : [];
  const isWhole = subagent === undefined && request.onlyNamedTools !== true;
  const configured = isWhole ? [...deps.tools, ...memoryTools(deps, memory)] : [];
  const forSkills = skills.skills.length > 0 ? [skillTool(deps.skills, skills)] : [];
  const own = [...configured, ...forInput, ...(request.ownTools ?? []), ...forSkills, ...forSubagents];
  const serverTools = ownTools(own, given.tools);
  // A subagent has no client that could answer calls.
  const clientTools = subagent === undefined ? conversationContext.tools : [];
  const defaults = [...[...serverTools.values()].map((tool) => tool.definition), ...clientTools];
  const tools = mergeTools(defaults, given.tools);
  const { allowedTools } = request;
  const isClosed = ({ name }: ToolDefinition): boolean => !given.mayCall || allowedTools?.includes(name) === false;
  const closed = new Set(given.tools.filter(isClosed).map(({ name }) => name));
  return {
    toolUse: {
      ...toolUse(tools, mode, { choice: request.toolChoice, closed }),
      mustCall: request.mustCallTool === true,
    },
    clientTools: given,
    toolsHash: toolsHash(tools),
    serverTools,
    readable,
    askApproval: request.askApproval ?? null,
    decideApproval: request.decideApproval ?? null,
    cannotWait: request.cannotWait === true,
  };
}

function memoryTools({ workspaces, now }: EngineDependencies, memory: AcceptedMemory | null): Tool[] {
  const store = workspaces?.memory;
  return store === undefined || memory === null ? [] : [memoryTool({ store, workspaceId: memory.workspaceId, now })];
}

/** Returns true if the turn may start subagents. A turn at the deepest level is not offered the tools for it (A1). */
function mayBeginSubagents({ subagents }: ConversationContext, subagent: SubagentRef | undefined): boolean {
  return subagents === true && (subagent?.level ?? 0) < limits.subagentLevelsMax;
}

export async function providerOf({ providers }: WorkspaceSettings, agentContext: AgentContext): Promise<Provider> {
  const provider = await providers.get(agentContext.provider);
  if (provider !== undefined) return provider;
  const fault = providers.fault?.(agentContext.provider) ?? null;
  const where = `agent context "${agentContext.id}" names the provider "${agentContext.provider}"`;
  const known = `the configured providers are: ${quoted(providers.keys())}`;
  throw new AptoveError("provider_unknown", fault === null ? `${where}; ${known}` : `${where}, which ${fault}`);
}

/**
 * Returns the tools that run beside the engine, by name. If several have the same name, the last one counts. A tool
 * that the request defines with the same name replaces it, and the client runs it (E4).
 */
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
      const detail = `the result of "${callId}" has ${bytes} bytes; the limit is ${limits.toolOutputBytesMax}`;
      throw new AptoveError("tool_feedback_invalid", detail);
    }
  }
}

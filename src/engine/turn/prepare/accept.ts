/**
 * Accepts a request: looks up every id, fills in every default, and refuses every fault before anything is written. A
 * value comes from the request, then from the session, then from the defaults (G2).
 */
import { AptoveError } from "../../../domain/errors.ts";
import { givenName } from "../../../domain/given-name.ts";
import { sha256 } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import { sessionPath, type PathNames } from "../../../domain/repositories.ts";
import type { ToolFeedback } from "../../../domain/tool.ts";
import { workspaceFor, workspaceOfNew } from "../../access/access.ts";
import { missingWorkspace } from "../../contexts/missing-workspace.ts";
import { settingsOf } from "../../contexts/resolve-contexts.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import type { TurnRequest } from "../../engine.ts";
import type { AskedBeside } from "../kept/turn-blobs.ts";
import { checkInstruction } from "../request/envelope.ts";
import { bootPrompt, repositoriesSection, withInstructions } from "../request/prompt.ts";
import type { AcceptInput } from "./accept-input.ts";
import { acceptRepositories } from "./accept-repositories.ts";
import type { AcceptedRequest, AcceptedSurroundings, ChosenContexts } from "./accepted-request.ts";
import { acceptEarlier } from "./earlier.ts";
import { acceptMemory } from "./facts/turn-memory.ts";
import { checkFiles } from "./gathered/check-files.ts";
import { readParts, withLongTexts, withTexts } from "./input-parts.ts";
import { chosenForTurn, type ContextsOfTurn } from "./model-choice.ts";
import { noModel } from "./no-model.ts";
import { offerTools } from "./offer-tools.ts";
import { acceptResults } from "./result-media.ts";
import { skillFoldersOf } from "./skills.ts";
import { acceptSurroundings } from "./surroundings.ts";

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
  const { contexts, model } = await chosenForTurn(deps, asked, settings);
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
  const results = await acceptResults(request.toolResults ?? [], reading);
  const input = [...earlier.parts, ...results.parts, ...(await readParts(given, reading))];
  const files = checkFiles(request.activeFiles ?? [], paths);
  return {
    instruction,
    earlier: earlier.items,
    input,
    toolResults: results.toolResults,
    resultMedia: results.resultMedia,
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
  { conversationContext }: ContextsOfTurn,
  { surroundings: { rules }, paths }: { surroundings: AcceptedSurroundings; paths: PathNames },
  { instructions }: TurnRequest,
): Pick<ChosenContexts, "prompt" | "promptHash"> {
  const context = withInstructions(conversationContext, instructions);
  const prompt = bootPrompt(context, repositoriesSection(paths.names), rules?.section ?? "");
  return { prompt, promptHash: sha256(prompt) };
}

/** Returns where the request's own instructions are in the boot prompt, so that they are stored once for all turns. */
function placeOfInstructions(
  { conversationContext }: ContextsOfTurn,
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

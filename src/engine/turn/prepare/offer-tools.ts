/** The tools that a turn offers to its model, and who runs them (E4, A1). */
import type { ConversationContext } from "../../../domain/context.ts";
import { limits } from "../../../domain/limits.ts";
import type { SubagentRef } from "../../../domain/subagent.ts";
import type { ToolDefinition } from "../../../domain/tool.ts";
import type { Tool } from "../../../tools/tool.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import { isReadable, type AcceptedPart } from "../kept/accepted-part.ts";
import { mergeTools, toolsHash, toolUse } from "../request/prompt.ts";
import type { AcceptInput } from "./accept-input.ts";
import type { AcceptedMemory, OfferedTools } from "./accepted-request.ts";
import { memoryTool } from "./facts/memory-tool.ts";
import { inputTool } from "./input-tool.ts";
import type { ContextsOfTurn } from "./model-choice.ts";
import { skillTool, type TurnSkills } from "./skills.ts";

interface OfferedBeside {
  contexts: ContextsOfTurn;
  input: readonly AcceptedPart[];
  skills: TurnSkills;
  memory: AcceptedMemory | null;
}

/** Collects the tools of the engine, the context, the request and the turn itself. Throws `tool_invalid`, `tool_choice_unknown`. */
export function offerTools(
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

/**
 * Returns the tools that run beside the engine, by name. If several have the same name, the last one counts. A tool
 * that the request defines with the same name replaces it, and the client runs it (E4).
 */
function ownTools(tools: readonly Tool[], requested: readonly ToolDefinition[]): Map<string, Tool> {
  const redefined = new Set(requested.map((tool) => tool.name));
  const own = tools.filter((tool) => !redefined.has(tool.definition.name));
  return new Map(own.map((tool) => [tool.definition.name, tool]));
}

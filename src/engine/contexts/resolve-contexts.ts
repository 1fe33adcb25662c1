/** Finds the contexts of a request (G2), and the settings of its workspace (W7). */
import { AptoveError, type Warning } from "../../domain/errors.ts";
import type { Caller } from "../../domain/caller.ts";
import type { Session } from "../../domain/session.ts";
import type { AgentContext, ConversationContext, Mode } from "../../domain/context.ts";
import { ownsWorkspaces } from "../access/access.ts";
import type { EngineDependencies, WorkspaceSettings } from "../dependencies.ts";

/** Returns the settings of the workspace of a request, or those of the engine if there is no workspace (W7). */
export async function settingsOf(
  deps: EngineDependencies,
  caller: Caller,
  workspaceId: string | null,
): Promise<WorkspaceSettings> {
  const own = workspaceId === null || !ownsWorkspaces(caller) ? null : await deps.workspaces?.settings(workspaceId);
  return own ?? deps;
}

/** Returns the contexts of a request. Throws `context_unknown`, which lists the known ids (G2). */
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

/** A free name of a mode goes into the header of the user message (E2), so nothing in it may end the header. */
const modeName = /^[^[\]\p{C}\p{Zl}\p{Zp}]{1,64}$/u;

/**
 * Returns the mode of a request. A context may allow names that it does not know (`modes = "open"`): such a mode is like
 * `ask`. Throws `mode_unknown`, which lists the known ids.
 */
export function modeOf({ modes, openModes }: ConversationContext, id: string): Mode {
  const isFree = openModes === true && modeName.test(id) && !modes.some((mode) => mode.id === id);
  if (!isFree) return named("mode", modes, id);
  return { ...named("mode", modes, "ask"), id, instructions: "", isUnknown: true };
}

/** Returns the warning of a turn with a mode that its context does not know (G2). */
export function modeWarnings({ modes }: ConversationContext, mode: Mode): Warning[] {
  if (mode.isUnknown !== true) return [];
  const known = quoted(modes.map(({ id }) => id));
  return [
    {
      code: "mode_not_known",
      message: `the mode "${mode.id}" is not configured, so only its name was sent, and tools that write or run were not offered; known are: ${known}`,
    },
  ];
}

/** Returns the item with this id. Throws `mode_unknown` or `context_unknown`, which list the known ids. */
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

export function quoted(names: Iterable<string>): string {
  return [...names].map((name) => `"${name}"`).join(", ") || "none";
}

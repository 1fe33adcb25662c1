/** Refuses a mode that is not configured where it is named, and not at each later line (G2). */
import type { AptoveClient } from "../../../client/client.ts";
import type { LoadedConfiguration } from "../../../configuration/configuration.ts";
import { defaultWorkspaceId } from "../../../workspace/workspace-store.ts";
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed } from "../failure.ts";
import { fixes } from "../../../domain/fixes.ts";
import { nullIfNotFound } from "./find-by-id.ts";

export interface ModeLookup {
  /** Opens a client. It is called only if the configuration does not have the mode. */
  client(): AptoveClient | Promise<AptoveClient>;
  /** The workspace, of this machine or of the named server. Null if there is none. */
  workspaceId: string | null;
  /** The conversation context whose modes are valid. Null means the configured one. */
  contextId: string | null;
}

/**
 * Throws `mode_unknown` with the modes that exist. The workspaces of another server cannot be read here, so their modes
 * are checked by the turn.
 */
export async function refuseUnknownMode(invocation: CliInvocation, mode: string, place: ModeLookup): Promise<void> {
  const isElsewhere = invocation.server() !== null;
  if (isElsewhere && place.workspaceId !== null) return;
  const own = isElsewhere ? null : await ownConfiguration(invocation, place.workspaceId);
  const contextId = place.contextId ?? own?.configuration.conversationContext ?? null;
  if (contextId === null) return;
  const configured = own?.configuration.conversationContexts.find(({ id }) => id === contextId);
  if (configured?.openModes === true || configured?.modes.some(({ id }) => id === mode)) return;
  // An org may keep the context as a record, which has more than the files of this machine.
  const known = await nullIfNotFound((await place.client()).contexts.get("conversation", contextId));
  const content = known?.content ?? null;
  if (content !== null && "openModes" in content && content.openModes === true) return;
  const recorded = content !== null && "modes" in content ? Object.keys(content.modes ?? {}) : [];
  const modes = [...new Set([...(configured?.modes.map(({ id }) => id) ?? []), ...recorded])];
  if (modes.length === 0 || modes.includes(mode)) return;
  const others = modes.map((one) => JSON.stringify(one)).join(", ");
  throw new CommandFailed(
    "mode_unknown",
    `there is no mode ${JSON.stringify(mode)}; known modes: ${others}`,
    fixes.mode_unknown,
  );
}

/**
 * Returns the configuration of a workspace. A workspace that does not exist yet has the configuration of the data
 * folder.
 */
async function ownConfiguration(invocation: CliInvocation, workspaceId: string | null): Promise<LoadedConfiguration> {
  const id = workspaceId ?? defaultWorkspaceId;
  const { store } = await invocation.workspaces();
  return (await store.load(id)) === null ? invocation.loaded() : await invocation.loadedFor(id);
}

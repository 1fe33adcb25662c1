/** A mode that nobody configured is refused where it is named, and not at each line after it (G2). */
import type { AptoveClient } from "../../../client/client.ts";
import type { LoadedConfiguration } from "../../../configuration/configuration.ts";
import { defaultWorkspaceId } from "../../../workspace/workspace-store.ts";
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed } from "../failure.ts";
import { nullIfNotFound } from "./find-by-id.ts";

export interface ModeLookup {
  /** Opened only where the configuration does not have the mode. */
  client(): AptoveClient | Promise<AptoveClient>;
  /** Of this machine, or of the server that is named; null: none. */
  workspaceId: string | null;
  /** The conversation context whose modes count; null: the one that is configured. */
  contextId: string | null;
}

/**
 * Throws `mode_unknown` with the modes that there are. What cannot be known here is left to the turn that names it: the
 * workspaces of another server.
 */
export async function refuseUnknownMode(call: CliInvocation, mode: string, place: ModeLookup): Promise<void> {
  const isElsewhere = call.server() !== null;
  if (isElsewhere && place.workspaceId !== null) return;
  const own = isElsewhere ? null : await ownConfiguration(call, place.workspaceId);
  const contextId = place.contextId ?? own?.configuration.conversationContext ?? null;
  if (contextId === null) return;
  const configured = own?.configuration.conversationContexts.find(({ id }) => id === contextId);
  if (configured?.modes.some(({ id }) => id === mode)) return;
  // An org may keep the context as a record, which says more than the files of this machine.
  const known = await nullIfNotFound((await place.client()).contexts.get("conversation", contextId));
  const content = known?.content ?? null;
  const recorded = content !== null && "modes" in content ? Object.keys(content.modes ?? {}) : [];
  const modes = [...new Set([...(configured?.modes.map(({ id }) => id) ?? []), ...recorded])];
  if (modes.length === 0 || modes.includes(mode)) return;
  const others = modes.map((one) => JSON.stringify(one)).join(", ");
  throw new CommandFailed("mode_unknown", `there is no mode ${JSON.stringify(mode)}; known are: ${others}`);
}

/** A workspace that is made when it is first needed says nothing yet. */
async function ownConfiguration(call: CliInvocation, workspaceId: string | null): Promise<LoadedConfiguration> {
  const id = workspaceId ?? defaultWorkspaceId;
  const { store } = await call.workspaces();
  return (await store.load(id)) === null ? call.loaded() : await call.loadedFor(id);
}

/** What the engine does with workspaces, and their settings. */
import type { Configuration } from "../../configuration/configuration.ts";
import type { Providers, WorkspaceParts, WorkspaceSettings } from "../../engine/dependencies.ts";
import type { ConfiguredWorkspaces } from "../configured-workspaces.ts";
import type { LazyWorkspaces } from "../lazy-workspaces.ts";
import type { ModelOptions } from "../options.ts";

/** The files of the workspaces are opened when they are first needed. */
export function workspaceParts(workspaces: LazyWorkspaces, configured: ConfiguredWorkspaces): WorkspaceParts {
  return {
    settings: async (id) => (await configured(id))?.settings ?? null,
    ofDevice: async (deviceId) => (await (await workspaces.opened()).workspaces.resolve(deviceId)).id,
    permissions: {
      isAllowed: async (id, key) => await (await workspaces.opened()).permissions.isAllowed(id, key),
      allow: async (id, key) => await (await workspaces.opened()).permissions.allow(id, key),
    },
    memory: workspaces.facts,
    managed: async () => ({ ...(await workspaces.opened()), transcripts: await workspaces.transcripts() }),
    boundTo: async (deviceId) => await (await workspaces.opened()).bindings.resolve(deviceId),
    bind: async (deviceId, id) => await (await workspaces.opened()).bindings.bind(deviceId, id),
    nextBeginning: async (id) => await (await workspaces.transcripts()).nextBeginning(id),
    turnsFinished: (id, turns) => workspaces.turnsFinished(id, turns),
    settle: (id) => workspaces.settle(id),
  };
}

/** Contexts that the caller gives replace the configured ones, in every workspace. */
export function settingsFrom(
  configuration: Configuration,
  providers: Providers,
  given: ModelOptions,
): WorkspaceSettings {
  return {
    providers,
    agentContexts: given.agentContexts ?? configuration.agentContexts,
    conversationContexts: given.conversationContexts ?? configuration.conversationContexts,
    defaults: {
      agentContextId: configuration.agentContext,
      conversationContextId: configuration.conversationContext,
    },
    scopePaths: configuration.scope.paths,
    summaries: {
      whenArchived: configuration.summaries.whenArchived,
      ...(configuration.summaries.model !== null && { model: configuration.summaries.model }),
    },
  };
}

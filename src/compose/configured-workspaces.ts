/**
 * What counts in each workspace (W7): the layers of the configuration with the workspace's own words between them. These
 * are read at every turn, so that a change counts at the next one; what they come to is worked out once for the same words.
 */
import { limits } from "../domain/limits.ts";
import { BoundedCache } from "../system/bounded-cache.ts";
import type { WorkspaceSettings } from "../engine/dependencies.ts";
import { mergeLayers, readWorkspaceSettings } from "../configuration/configuration.ts";
import type { Configuration, SharedLayers } from "../configuration/configuration.ts";
import { isWorkspaceId } from "../workspace/workspace-store.ts";
import type { WorkspaceStore } from "../workspace/workspace-store.ts";

export interface ConfiguredWorkspace {
  configuration: Configuration;
  settings: WorkspaceSettings;
}

/**
 * Null: there is no such workspace, or its name is the id of none. Throws `config_invalid`, `workspace_damaged`: that
 * is the workspace's own matter, and costs nobody else anything.
 */
export type ConfiguredWorkspaces = (workspaceId: string) => Promise<ConfiguredWorkspace | null>;

export interface ConfiguredWorkspacesParts {
  store(): Promise<WorkspaceStore>;
  shared: SharedLayers;
  /** What counts where no workspace says anything. */
  base: ConfiguredWorkspace;
  settle(configuration: Configuration): WorkspaceSettings;
}

export function configuredWorkspaces({ store, shared, base, settle }: ConfiguredWorkspacesParts): ConfiguredWorkspaces {
  // By the words themselves: what was worked out from them is never stale.
  const kept = new BoundedCache<ConfiguredWorkspace>(limits.workspaceConfigurationsKept);
  return async (workspaceId) => {
    const words = isWorkspaceId(workspaceId) ? await readWorkspaceSettings(await store(), workspaceId) : null;
    if (words === null) return null;
    if (words.provider === null && words.config === null) return base;
    const key = JSON.stringify(words);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const { configuration } = mergeLayers(shared, words);
    const found = { configuration, settings: settle(configuration) };
    kept.set(key, found, 1);
    return found;
  };
}

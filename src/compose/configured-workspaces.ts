/**
 * The configuration of each workspace (W7): its own settings are one layer among the others. They are read at every turn, so
 * that a change takes effect at the next one. The merged result is cached by the content of these settings.
 */
import { limits } from "../domain/limits.ts";
import { BoundedCache } from "../system/bounded-cache.ts";
import type { WorkspaceSettings } from "../engine/dependencies.ts";
import {
  mergeLayers,
  readWorkspaceSettings,
  type Configuration,
  type SharedLayers,
} from "../configuration/configuration.ts";
import { isWorkspaceId, type WorkspaceStore } from "../workspace/workspace-store.ts";

export interface ConfiguredWorkspace {
  configuration: Configuration;
  settings: WorkspaceSettings;
}

/**
 * Returns the configuration of a workspace. Null: no workspace has this id. Throws `config_invalid` or
 * `workspace_damaged`; other workspaces are not affected.
 */
export type ConfiguredWorkspaces = (workspaceId: string) => Promise<ConfiguredWorkspace | null>;

export interface ConfiguredWorkspacesParts {
  store(): Promise<WorkspaceStore>;
  shared: SharedLayers;
  /** The configuration of a workspace without settings. */
  base: ConfiguredWorkspace;
  settle(configuration: Configuration): WorkspaceSettings;
}

export function configuredWorkspaces({ store, shared, base, settle }: ConfiguredWorkspacesParts): ConfiguredWorkspaces {
  // The settings themselves are the key, so an entry is never stale.
  const kept = new BoundedCache<ConfiguredWorkspace>(limits.workspaceConfigurationsKept);
  return async (workspaceId) => {
    const settings = isWorkspaceId(workspaceId) ? await readWorkspaceSettings(await store(), workspaceId) : null;
    if (settings === null) return null;
    if (settings.provider === null && settings.config === null) return base;
    const key = JSON.stringify(settings);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const { configuration } = mergeLayers(shared, settings);
    const found = { configuration, settings: settle(configuration) };
    kept.set(key, found, 1);
    return found;
  };
}

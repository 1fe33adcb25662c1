/** The configuration for tests: layers in a data folder that is removed after the test. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { mergeLayers, readSharedLayers, type LoadedConfiguration } from "../src/configuration/configuration.ts";
import { rejectionOf } from "./refusals.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface Layers {
  file?: string;
  /** The settings of a workspace: the `provider` of its `workspace.toml`, and its own `config.toml`. */
  workspace?: { provider?: string; config?: string };
  env?: Record<string, string>;
  overrides?: Record<string, unknown>;
  overridesFrom?: string;
}

/** Returns the path of a workspace's `config.toml`. */
export const workspaceFile = "workspaces/w/config.toml";

/** Loads the layers from a new data folder. */
export async function load(t: TestContext, layers: Layers = {}): Promise<LoadedConfiguration & { file: string }> {
  const dataDir = await temporaryFolder(t);
  const file = join(dataDir, "config.toml");
  const { file: text, workspace, env = {}, overrides = {}, overridesFrom } = layers;
  if (text !== undefined) writeFileSync(file, text, { mode: 0o600 });
  const shared = readSharedLayers({ dataDir, env, overrides, ...(overridesFrom !== undefined && { overridesFrom }) });
  if (workspace === undefined) return { ...mergeLayers(shared, null), file };
  const { provider = null, config } = workspace;
  const own = config === undefined ? null : { text: config, place: workspaceFile };
  return { ...mergeLayers(shared, { id: "w", provider, config: own }), file };
}

/** Returns the reason why the layers are refused. */
export async function faultOf(t: TestContext, layers: Layers): Promise<string> {
  const { code, detail } = await rejectionOf(load(t, layers));
  assert.equal(code, "config_invalid", detail);
  return detail;
}

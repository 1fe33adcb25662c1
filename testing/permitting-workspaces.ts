/** One workspace in memory, `default`, that keeps permanent permissions (P4). */
import assert from "node:assert/strict";
import type { EngineDependencies, WorkspaceParts } from "../src/engine/dependencies.ts";
import { memoryWorkspaces } from "../src/workspace/memory/memory-workspaces.ts";
import { Permissions } from "../src/workspace/permissions.ts";

export interface PermittingWorkspaces {
  workspaces: WorkspaceParts;
  permissions: Permissions;
  /** Gives the workspace the contexts of this engine. */
  settle(deps: EngineDependencies): void;
  /** Returns the keys that are allowed permanently. */
  keys(): Promise<string[]>;
}

export async function permittingWorkspaces(): Promise<PermittingWorkspaces> {
  const store = memoryWorkspaces();
  await store.create({ id: "default", at: 0 });
  const permissions = new Permissions({ store, now: Date.now });
  let deps: EngineDependencies | null = null;
  const workspaces: WorkspaceParts = {
    ofDevice: () => assert.fail("no device is bound here"),
    boundTo: () => assert.fail("no device is bound here"),
    bind: () => assert.fail("no device is bound here"),
    settings: async (id) => (id === "default" ? deps : null),
    nextBeginning: () => assert.fail("no session continues here"),
    turnsFinished: async () => {},
    settle: async () => {},
    permissions,
  };
  return {
    workspaces,
    permissions,
    settle: (of) => void (deps = of),
    keys: async () => (await permissions.list("default")).map(({ key }) => key),
  };
}

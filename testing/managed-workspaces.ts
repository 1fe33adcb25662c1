/** Workspaces in memory for an engine, put together as compose.ts puts those of a data folder. */
import type { EngineDependencies, WorkspaceParts } from "../src/engine/dependencies.ts";
import { memoryBindings } from "../src/workspace/memory/memory-bindings.ts";
import { memoryFacts } from "../src/workspace/memory/memory-facts.ts";
import { memoryTranscripts } from "../src/workspace/memory/memory-transcripts.ts";
import { memoryWorkspaces } from "../src/workspace/memory/memory-workspaces.ts";
import type { BindingStore } from "../src/workspace/binding-store.ts";
import { Permissions } from "../src/workspace/permissions.ts";
import type { TranscriptStore } from "../src/workspace/transcript-store.ts";
import { createTranscripts } from "../src/workspace/transcript/transcripts.ts";
import { Workspaces } from "../src/workspace/workspaces.ts";

export interface ManagedForTest {
  parts: WorkspaceParts;
  workspaces: Workspaces;
  bindings: BindingStore;
  permissions: Permissions;
  transcripts: TranscriptStore;
  clock: { now: number };
}

/** `settings`: returns those of every workspace; usually the engine's own. */
export function managedWorkspaces(settings: () => EngineDependencies): ManagedForTest {
  const clock = { now: Date.now() };
  const now = (): number => clock.now;
  const [store, bindings, files] = [memoryWorkspaces(), memoryBindings(), memoryTranscripts()];
  const workspaces = new Workspaces({ store, bindings, transcripts: files, now });
  const permissions = new Permissions({ store, now });
  const transcripts = createTranscripts({ store: files, now, report: () => {} });
  const parts: WorkspaceParts = {
    settings: async (id) => ((await store.load(id)) === null ? null : settings()),
    ofDevice: async (deviceId) => (await workspaces.resolve(deviceId)).id,
    boundTo: (deviceId) => bindings.resolve(deviceId),
    bind: (deviceId, id) => bindings.bind(deviceId, id),
    memory: memoryFacts(store),
    managed: async () => ({ workspaces, permissions, transcripts }),
    nextBeginning: (id) => transcripts.nextBeginning(id),
    turnsFinished: (id, turns) => transcripts.turnsFinished(id, turns),
    settle: async (id) => {
      await transcripts.sync(id);
      await workspaces.touch(id);
    },
  };
  return { parts, workspaces, bindings, permissions, transcripts: files, clock };
}

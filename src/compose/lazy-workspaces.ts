/** The workspaces of the data folder, or of stores that the caller gives (Y1). They are opened at first use, because most commands need none. */
import type { FactStore } from "../domain/fact.ts";
import type { Millis } from "../domain/ids.ts";
import type { TranscribedTurn } from "../domain/transcript.ts";
import type { DataFolder } from "../configuration/data-folder.ts";
import type { OpenedWorkspaces } from "../workspace/opened-workspaces.ts";
import type { Transcripts } from "../workspace/transcript/transcripts.ts";
import { OpenedOnce } from "../system/opened-once.ts";
import { defaultWorkspaceId } from "../workspace/workspace-store.ts";
import type { WorkspaceOptions } from "./options.ts";

export interface LazyWorkspaces {
  opened(): Promise<OpenedWorkspaces>;
  transcripts(): Promise<Transcripts>;
  facts: FactStore;
  /** Writes the turn to the transcript (W4). Never rejects. */
  turnsFinished(workspaceId: string, turns: readonly TranscribedTurn[]): Promise<void>;
  /** Makes the transcript durable, and marks the workspace as used (W6). Never rejects. */
  settle(workspaceId: string): Promise<void>;
}

interface WorkspaceSetup {
  folder: DataFolder;
  now(): Millis;
  report(message: string, error?: unknown): void;
}

export function lazyWorkspaces(given: WorkspaceOptions, { folder, now, report }: WorkspaceSetup): LazyWorkspaces {
  const stores = new OpenedOnce(() => open(given, { folder, now }));
  const written = new OpenedOnce(async (): Promise<Transcripts> => {
    const { createTranscripts } = await import("../workspace/transcript/transcripts.ts");
    return createTranscripts({ store: (await stores.open()).transcripts, now, report });
  });
  const kept: LazyWorkspaces = {
    opened: () => stores.open(),
    transcripts: () => written.open(),
    facts: {
      // The workspace `default` is made when it is first needed, and until then remembers nothing.
      read: async (id) =>
        (await (await kept.opened()).facts.read(id)) ?? (id === defaultWorkspaceId ? { facts: [], faults: [] } : null),
      add: async (id, fact) => {
        const { workspaces, facts } = await kept.opened();
        if (id === defaultWorkspaceId) await workspaces.use(id);
        return await facts.add(id, fact);
      },
      change: async (id, change) => await (await kept.opened()).facts.change(id, change),
      forget: async (id, factId) => await (await kept.opened()).facts.forget(id, factId),
    },
    turnsFinished: async (workspaceId, turns) => {
      await (await kept.transcripts()).turnsFinished(workspaceId, turns);
    },
    settle: async (workspaceId) => {
      await (await kept.transcripts()).sync(workspaceId);
      try {
        await (await kept.opened()).workspaces.touch(workspaceId);
      } catch (error) {
        report(`the workspace ${workspaceId} could not be marked as used`, error);
      }
    },
  };
  return kept;
}

/**
 * Uses files for each store that the caller did not give. The exception: transcripts of workspaces in another store
 * cannot be files beside them, so they are in memory and end with the process.
 */
async function open(
  { workspaceStore, bindings, transcripts, facts }: WorkspaceOptions,
  { folder, now }: Omit<WorkspaceSetup, "report">,
): Promise<OpenedWorkspaces> {
  const { openWorkspaces } = await import("./open-workspaces.ts");
  if (workspaceStore === undefined) return openWorkspaces(folder, { bindings, transcripts, facts, now });
  const { memoryTranscripts } = await import("../workspace/memory/memory-transcripts.ts");
  const { memoryFacts } = await import("../workspace/memory/memory-facts.ts");
  return openWorkspaces(folder, {
    store: workspaceStore,
    bindings,
    transcripts: transcripts ?? memoryTranscripts(),
    facts: facts ?? memoryFacts(workspaceStore),
    now,
  });
}

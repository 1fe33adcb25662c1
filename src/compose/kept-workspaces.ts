/** The workspaces of the data folder, or of the stores that the caller brings (Y1); opened at the first use: most commands need none. */
import type { Millis } from "../domain/ids.ts";
import type { TranscribedTurn } from "../domain/transcript.ts";
import type { BindingStore } from "../workspace/binding-store.ts";
import type { DataFolder } from "../configuration/data-folder.ts";
import type { OpenedWorkspaces } from "../workspace/opened-workspaces.ts";
import type { TranscriptStore } from "../workspace/transcript-store.ts";
import type { Transcripts } from "../workspace/transcript/transcripts.ts";
import type { WorkspaceStore } from "../workspace/workspace-store.ts";

export interface BroughtStores {
  workspaceStore?: WorkspaceStore;
  bindings?: BindingStore;
  transcripts?: TranscriptStore;
}

export interface KeptWorkspaces {
  opened(): Promise<OpenedWorkspaces>;
  transcripts(): Promise<Transcripts>;
  /** Writes the turn down, and marks the workspace as used (W4, W6). Never rejects. */
  turnFinished(workspaceId: string, turn: TranscribedTurn): Promise<void>;
}

interface Surroundings {
  folder: DataFolder;
  now(): Millis;
  report(message: string, error?: unknown): void;
}

export function keptWorkspaces(brought: BroughtStores, { folder, now, report }: Surroundings): KeptWorkspaces {
  let opened: Promise<OpenedWorkspaces> | null = null;
  let written: Promise<Transcripts> | null = null;
  const kept: KeptWorkspaces = {
    opened: () => (opened ??= open(brought, { folder, now })),
    transcripts: () => (written ??= openTranscripts()),
    turnFinished: async (workspaceId, turn) => {
      await (await kept.transcripts()).turnFinished(workspaceId, turn);
      try {
        await (await kept.opened()).workspaces.touch(workspaceId);
      } catch (error) {
        report(`the workspace ${workspaceId} could not be marked as used`, error);
      }
    },
  };
  const openTranscripts = async (): Promise<Transcripts> => {
    const { createTranscripts } = await import("../workspace/transcript/transcripts.ts");
    return createTranscripts({ store: (await kept.opened()).transcripts, now, report });
  };
  return kept;
}

/**
 * Files stand in for what the caller did not bring. Only transcripts cannot stand in files beside workspaces that are
 * somewhere else: there they end with the process.
 */
async function open(
  { workspaceStore, bindings, transcripts }: BroughtStores,
  { folder, now }: Omit<Surroundings, "report">,
): Promise<OpenedWorkspaces> {
  const { openWorkspaces } = await import("./open-workspaces.ts");
  if (workspaceStore === undefined) return openWorkspaces(folder, { bindings, transcripts, now });
  const { memoryTranscripts } = await import("../workspace/memory/memory-transcripts.ts");
  return openWorkspaces(folder, {
    store: workspaceStore,
    bindings,
    transcripts: transcripts ?? memoryTranscripts(),
    now,
  });
}

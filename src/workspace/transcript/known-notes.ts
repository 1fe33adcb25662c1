/**
 * The notes that this process wrote or read last, so that the next turn reads no notes while no other process wrote any. Only
 * here is known what file the last change left.
 */
import { transcriptNotesName, type TranscriptFile, type TranscriptStore } from "../transcript-store.ts";
import { emptyNotes, parseNotes, type StoredNotes } from "./notes.ts";

/** The notes of one workspace. */
export interface FoundNotes extends StoredNotes {
  /** The file that has them. Null: there is none. */
  file: TranscriptFile | null;
  /** True if changes that are complete are not in the first line yet. */
  hasLines: boolean;
}

/** The most workspaces whose notes are remembered. */
const workspacesMax = 16;

export class KnownNotes {
  readonly #known = new Map<string, FoundNotes>();

  remember(workspaceId: string, notes: FoundNotes): void {
    this.#known.delete(workspaceId);
    this.#known.set(workspaceId, notes);
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size > workspacesMax) this.#known.delete(oldest);
  }

  /** True if this process wrote changes that a sync has yet to gather. */
  hasLines(workspaceId: string): boolean {
    return this.#known.get(workspaceId)?.hasLines === true;
  }

  /** Returns the notes. Null if they are damaged. Throws `data_newer`. */
  async find(store: TranscriptStore, workspaceId: string): Promise<FoundNotes | null> {
    const known = this.#known.get(workspaceId);
    const file = await store.stat(workspaceId, transcriptNotesName);
    if (known !== undefined && known.file?.stamp === file?.stamp) return known;
    const found = file === null ? null : await store.read(workspaceId, transcriptNotesName);
    if (found === null) return { notes: emptyNotes, intent: null, isWhole: true, file: null, hasLines: false };
    const { content, bytes, stamp } = found;
    const stored = content === null ? null : parseNotes(content);
    return stored === null ? null : { ...stored, file: { bytes, stamp }, hasLines: stored.intent !== null };
  }
}

/** Writes finished turns into the transcripts of their workspaces (W4). */
import { limits } from "../../../domain/limits.ts";
import type { TranscribedTurn } from "../../../domain/transcript.ts";
import { apart } from "../../../system/apart.ts";
import type { EngineDependencies, WorkspaceParts } from "../../dependencies.ts";
import { endOfRound } from "../../../system/rounds.ts";
import { endsPassed } from "./pacing.ts";

interface Line {
  /** The turns that are not written yet. */
  waiting: TranscribedTurn[];
  /** Settles when the turns so far are written. */
  written: Promise<void>;
  /** The pause before the workspace is settled. Aborted: it is settled at once. */
  hurry: AbortController;
  /** Resolves when the line is settled and forgotten. */
  settled: Promise<void>;
}

/**
 * Writes the turns of each workspace in the order in which they ended in this process, after their ends were sent and without a wait for the disk. Turns that
 * end together are written together. It pauses each time before the workspace is settled: the sync does not compete with an instruction that
 * follows at once, and counts for all turns that end meanwhile.
 */
export class Transcriber {
  readonly #deps: EngineDependencies;
  readonly #lines = new Map<string, Line>();

  constructor(deps: EngineDependencies) {
    this.#deps = deps;
  }

  /** Writes the turn a moment later; as soon as it can, if another process holds the lock. From the call on, `written` waits for it. */
  add(workspaceId: string, turn: TranscribedTurn): void {
    const { workspaces } = this.#deps;
    if (workspaces === undefined) return;
    const line = this.#lines.get(workspaceId) ?? this.#begin(workspaceId, workspaces);
    line.waiting.push(turn);
    line.written = line.written.then(() => apart(() => writeWaiting(workspaceId, line, workspaces)));
  }

  #begin(workspaceId: string, workspaces: WorkspaceParts): Line {
    const line: Line = {
      waiting: [],
      written: Promise.resolve(),
      hurry: new AbortController(),
      settled: Promise.resolve(),
    };
    this.#lines.set(workspaceId, line);
    line.settled = apart(() => this.#settle(workspaceId, line, workspaces));
    return line;
  }

  async #settle(workspaceId: string, line: Line, workspaces: WorkspaceParts): Promise<void> {
    for (let written: Promise<void> | null = null; written !== line.written;) {
      // A turn that ended during the last sync waits for a pause too. Without it, each of many turns has syncs of its own.
      if (!line.hurry.signal.aborted) await this.#deps.sleep(limits.transcriptPauseMs, line.hurry.signal);
      written = line.written;
      await written;
      await workspaces.settle(workspaceId);
    }
    this.#lines.delete(workspaceId);
  }

  /** Resolves when every turn of the workspace that ended in this process is written and settled. It skips the pause. */
  async written(workspaceId: string): Promise<void> {
    const line = this.#lines.get(workspaceId);
    line?.hurry.abort();
    await line?.settled;
  }

  async writtenAll(): Promise<void> {
    await Promise.all([...this.#lines.keys()].map((workspaceId) => this.written(workspaceId)));
  }
}

async function writeWaiting(workspaceId: string, line: Line, workspaces: WorkspaceParts): Promise<void> {
  // Doors send the end of the turn first: no client waits for its transcript.
  await endOfRound();
  await endsPassed();
  const turns = line.waiting.splice(0);
  // The turn that is written now may have been written with the one before it.
  if (turns.length > 0) await workspaces.turnsFinished(workspaceId, turns);
}

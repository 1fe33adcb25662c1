/** Queues finished turns until they are written into the transcript of their workspace (W4). */
import { limits } from "../../../domain/limits.ts";
import type { TranscribedTurn } from "../../../domain/transcript.ts";
import type { EngineDependencies, WorkspaceParts } from "../../dependencies.ts";

interface Queue {
  turns: TranscribedTurn[];
  hurry: AbortController;
  written: Promise<void>;
}

/**
 * Writes the turns of each workspace one after the other, in the order in which they ended in this process. It pauses
 * first: an instruction that follows a turn at once does not compete with the writing, and turns that end in quick
 * succession are written together.
 */
export class Transcriber {
  readonly #deps: EngineDependencies;
  readonly #queues = new Map<string, Queue>();

  constructor(deps: EngineDependencies) {
    this.#deps = deps;
  }

  add(workspaceId: string, turn: TranscribedTurn): void {
    const { workspaces } = this.#deps;
    if (workspaces === undefined) return;
    const waiting = this.#queues.get(workspaceId);
    if (waiting !== undefined) return void waiting.turns.push(turn);
    const queue: Queue = { turns: [turn], hurry: new AbortController(), written: Promise.resolve() };
    this.#queues.set(workspaceId, queue);
    queue.written = this.#write(workspaceId, queue, workspaces);
  }

  async #write(workspaceId: string, queue: Queue, workspaces: WorkspaceParts): Promise<void> {
    while (queue.turns.length > 0) {
      await this.#deps.sleep(limits.transcriptPauseMs, queue.hurry.signal);
      for (const turn of lastOfEachLine(queue.turns.splice(0))) await workspaces.turnFinished(workspaceId, turn);
    }
    this.#queues.delete(workspaceId);
  }

  /** Resolves when every turn of the workspace that ended in this process is written. It skips the pause. */
  async written(workspaceId: string): Promise<void> {
    const queue = this.#queues.get(workspaceId);
    queue?.hurry.abort();
    await queue?.written;
  }

  async writtenAll(): Promise<void> {
    await Promise.all([...this.#queues.keys()].map((workspaceId) => this.written(workspaceId)));
  }
}

/** Returns the last turn of each sequence of turns. A turn that continues the one before it also writes that one. */
function lastOfEachLine(turns: readonly TranscribedTurn[]): TranscribedTurn[] {
  return turns.filter(
    ({ turnId, sessionId }) => !turns.some((later) => later.parentTurnId === turnId && later.sessionId === sessionId),
  );
}

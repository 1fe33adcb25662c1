/** A workspace with a transcript in memory, whose conversations, reads, writes and reports a test can look at (W4, W5). */
import assert from "node:assert/strict";
import type { TranscribedTurn, TranscriptMessage } from "../src/domain/transcript.ts";
import { memoryTranscripts } from "../src/workspace/memory/memory-transcripts.ts";
import { currentTranscriptName, type TranscriptStore } from "../src/workspace/transcript-store.ts";
import { parseTranscript } from "../src/workspace/transcript/format.ts";
import { createTranscripts, type Transcripts } from "../src/workspace/transcript/transcripts.ts";
import { asked, Conversations } from "./conversations.ts";

/** The workspace whose transcript a test looks at. */
export const transcriptOwner = "default";

export class TranscriptWorld {
  readonly conversations = new Conversations();
  readonly reports: string[] = [];
  /** Names of files that were read or written whole. */
  readonly touched: string[] = [];
  readonly store: TranscriptStore;
  readonly transcripts: Transcripts;
  now = 1_000;

  constructor(store: TranscriptStore = memoryTranscripts()) {
    this.store = store;
    this.transcripts = createTranscripts({
      store: watchedTranscripts(store, this.touched),
      now: () => this.now,
      report: (message) => this.reports.push(message),
    });
  }

  async finish(...turns: TranscribedTurn[]): Promise<void> {
    for (const turn of turns) await this.transcripts.turnsFinished(transcriptOwner, [turn]);
  }

  async text(name = currentTranscriptName): Promise<string | null> {
    const content = (await this.store.read(transcriptOwner, name))?.content ?? null;
    return content === null ? null : Buffer.from(content).toString();
  }

  async messages(name = currentTranscriptName): Promise<TranscriptMessage[] | null> {
    const text = await this.text(name);
    if (text === null) return null;
    const parsed = parseTranscript(Buffer.from(text));
    assert.ok(parsed.kind === "transcript");
    return parsed.messages;
  }

  async edit(text: string | Uint8Array): Promise<void> {
    await this.store.write(transcriptOwner, currentTranscriptName, { content: Buffer.from(text) });
  }

  async edited() {
    const beginning = await this.transcripts.nextBeginning(transcriptOwner);
    assert.ok(beginning.kind === "edited", beginning.kind);
    return beginning;
  }
}

/** Returns the store, which notes the names of the files that it reads or writes whole. */
export function watchedTranscripts(store: TranscriptStore, touched: string[]): TranscriptStore {
  return {
    locked: store.locked.bind(store),
    stat: store.stat.bind(store),
    append: store.append.bind(store),
    sync: store.sync.bind(store),
    move: store.move.bind(store),
    remove: store.remove.bind(store),
    removeAll: store.removeAll.bind(store),
    read(workspaceId, name) {
      touched.push(name);
      return store.read(workspaceId, name);
    },
    write(workspaceId, name, whole) {
      touched.push(name);
      return store.write(workspaceId, name, whole);
    },
  };
}

/** Returns a world with one session that has one turn. */
export async function begunTranscript(store?: TranscriptStore): Promise<{ world: TranscriptWorld; session: string }> {
  const world = new TranscriptWorld(store);
  const session = world.conversations.begin();
  await world.finish(world.conversations.say(session, asked("one", "1")));
  return { world, session };
}

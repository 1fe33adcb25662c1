/** Keeps transcripts in memory until the process ends: for tests, and for programs that embed aptove and store nothing. */
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { checkTranscriptName, type TranscriptFile, type TranscriptStore } from "../transcript-store.ts";
import { checkWorkspaceId } from "../workspace-store.ts";
import { OneAtATime } from "./one-at-a-time.ts";

/** Returns an empty store. `has` returns true if a workspace exists. Absent: every workspace exists. */
export function memoryTranscripts(options: { has?: (workspaceId: string) => boolean } = {}): TranscriptStore {
  return new MemoryTranscripts(options.has ?? (() => true));
}

interface StoredFile {
  content: Uint8Array;
  stamp: string;
}

class MemoryTranscripts implements TranscriptStore {
  readonly #has: (workspaceId: string) => boolean;
  /** The files by `<workspace id>/<name>`. */
  readonly #files = new Map<string, StoredFile>();
  readonly #lines = new OneAtATime();
  #changes = 0;

  constructor(has: (workspaceId: string) => boolean) {
    this.#has = has;
  }

  async locked<T>(workspaceId: string, body: () => Promise<T>): Promise<T> {
    this.#check(workspaceId);
    return await this.#lines.run(workspaceId, () => {
      this.#check(workspaceId);
      return body();
    });
  }

  async stat(workspaceId: string, name: string): Promise<TranscriptFile | null> {
    const file = this.#files.get(keyOf(workspaceId, name));
    return file === undefined ? null : factsOf(file);
  }

  async read(workspaceId: string, name: string): Promise<(TranscriptFile & { content: Uint8Array | null }) | null> {
    const file = this.#files.get(keyOf(workspaceId, name));
    if (file === undefined) return null;
    const isTooLarge = file.content.length > limits.transcriptBytesMax;
    return { ...factsOf(file), content: isTooLarge ? null : new Uint8Array(file.content) };
  }

  async append(
    workspaceId: string,
    name: string,
    added: { stamp: string; content: Uint8Array },
  ): Promise<TranscriptFile | null> {
    const key = keyOf(workspaceId, name);
    const file = this.#files.get(key);
    if (file?.stamp !== added.stamp) return null;
    return this.#put(key, Buffer.concat([file.content, added.content]));
  }

  async write(
    workspaceId: string,
    name: string,
    whole: { stamp?: string | null; content: Uint8Array },
  ): Promise<TranscriptFile | null> {
    const key = keyOf(workspaceId, name);
    this.#check(workspaceId);
    if (whole.stamp !== undefined && (this.#files.get(key)?.stamp ?? null) !== whole.stamp) return null;
    return this.#put(key, new Uint8Array(whole.content));
  }

  async move(workspaceId: string, from: string, to: string): Promise<TranscriptFile> {
    const [fromKey, toKey] = [keyOf(workspaceId, from), keyOf(workspaceId, to)];
    this.#check(workspaceId);
    const file = this.#files.get(fromKey);
    if (file === undefined) throw new AptoveError("storage_failed", `there is no transcript ${from}`);
    if (this.#files.has(toKey)) throw new AptoveError("storage_failed", `the transcript ${to} already exists`);
    this.#files.delete(fromKey);
    return this.#put(toKey, file.content);
  }

  async remove(workspaceId: string, name: string): Promise<void> {
    this.#files.delete(keyOf(workspaceId, name));
  }

  async sync(workspaceId: string): Promise<void> {
    checkWorkspaceId(workspaceId);
  }

  async removeAll(workspaceId: string): Promise<void> {
    checkWorkspaceId(workspaceId);
    for (const key of this.#files.keys()) if (key.startsWith(`${workspaceId}/`)) this.#files.delete(key);
  }

  #put(key: string, content: Uint8Array): TranscriptFile {
    this.#changes += 1;
    const file = { content, stamp: String(this.#changes) };
    this.#files.set(key, file);
    return factsOf(file);
  }

  #check(workspaceId: string): void {
    checkWorkspaceId(workspaceId);
    if (!this.#has(workspaceId))
      throw new AptoveError("workspace_unknown", `there is no workspace ${JSON.stringify(workspaceId)}`);
  }
}

function keyOf(workspaceId: string, name: string): string {
  checkWorkspaceId(workspaceId);
  checkTranscriptName(name);
  return `${workspaceId}/${name}`;
}

function factsOf({ content, stamp }: StoredFile): TranscriptFile {
  return { bytes: content.length, stamp };
}

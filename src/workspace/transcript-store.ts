/**
 * The contract for the bytes of a workspace's transcripts (W4): `session.md` of the current session, one more file per
 * session that was current before, and the notes that say how far each was written. It knows no Markdown: what the
 * bytes mean is in transcript/.
 *
 * - `append` is durable when it resolves, and never replaces what is there.
 * - `locked` holds one workspace's transcripts over processes; all that changes something is called within it.
 */
export interface TranscriptStore {
  locked<T>(workspaceId: string, body: () => Promise<T>): Promise<T>;
  /** Null: there is no such file. `name` is `session.md`, or a name that was given to `move`. */
  read(workspaceId: string, name: string): Promise<Uint8Array | null>;
  /** Bytes of it; null: there is no such file. */
  size(workspaceId: string, name: string): Promise<number | null>;
  append(workspaceId: string, name: string, bytes: Uint8Array): Promise<void>;
  /** Replaces the whole file: the old one or the new one is there, never a part. */
  write(workspaceId: string, name: string, bytes: Uint8Array): Promise<void>;
  move(workspaceId: string, from: string, to: string): Promise<void>;
  remove(workspaceId: string, name: string): Promise<void>;
}

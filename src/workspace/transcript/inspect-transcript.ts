/** Compares a transcript's file with the note about how far aptove wrote it. */
import { limits } from "../../domain/limits.ts";
import type { TranscriptMessage } from "../../domain/transcript.ts";
import type { TranscriptFile, TranscriptStore } from "../transcript-store.ts";
import { parseTranscript, tooLargeReason } from "./format.ts";
import { digestOf, type SessionNote } from "./notes.ts";

/** The state of a transcript's file. */
export type TranscriptInspection =
  | { kind: "absent" }
  /** It is as noted. `content` is null if the stamp alone showed this, without reading. */
  | { kind: "same"; file: TranscriptFile; content: Uint8Array | null }
  /** Its messages differ from the note, or there is no note. */
  | { kind: "changed"; file: TranscriptFile; content: Uint8Array; messages: TranscriptMessage[] }
  | { kind: "unreadable"; file: TranscriptFile; reason: string; content: Uint8Array | null };

/** Inspects a transcript. The time does not depend on its length, unless the file was changed by another writer. */
export async function inspectTranscript(
  store: TranscriptStore,
  { workspaceId, name }: { workspaceId: string; name: string },
  note: SessionNote | null,
): Promise<TranscriptInspection> {
  const found = await store.stat(workspaceId, name);
  if (found === null) return { kind: "absent" };
  if (note?.stamp === found.stamp) return { kind: "same", file: found, content: null };
  const read = await store.read(workspaceId, name);
  if (read === null) return { kind: "absent" };
  const { content, ...file } = read;
  if (content === null) return inspectUnread(file, note);
  const parsed = parseTranscript(content);
  if (parsed.kind === "unreadable") return { ...parsed, file, content };
  const isSame = note !== null && digestOf(parsed.messages) === note.digest;
  return isSame ? { kind: "same", file, content } : { kind: "changed", file, content, messages: parsed.messages };
}

/** Inspects a file that was not read. A conversation may grow beyond the size that is read: it is unchanged if it has the noted size. */
function inspectUnread(file: TranscriptFile, note: SessionNote | null): TranscriptInspection {
  const isTooLarge = file.bytes > limits.transcriptBytesMax;
  if (isTooLarge && file.bytes === note?.bytes) return { kind: "same", file, content: null };
  return { kind: "unreadable", file, reason: unreadReason(file), content: null };
}

/** Returns why the store did not read a file. */
export function unreadReason({ bytes }: TranscriptFile): string {
  return bytes > limits.transcriptBytesMax ? tooLargeReason(bytes) : "it is not a regular file";
}

/** Returns true if at least one message has text, as an imported conversation must. */
export function hasWords(messages: readonly TranscriptMessage[]): boolean {
  return messages.some(({ text }) => text.trim() !== "");
}

/**
 * Returns true if the content is the noted one followed by a beginning of `added`, as a process that ended during an append
 * leaves it. Then none of it is a person's edit. After power loss the end may be zeros.
 */
export function isTornAppend(
  content: Uint8Array | null,
  { note, at, added }: { note: SessionNote; at: number; added: Uint8Array },
): content is Uint8Array {
  if (content === null || content.length < at || content.length > at + added.length) return false;
  const tail = content.subarray(at);
  const written = tail.findIndex((byte, index) => byte !== added[index]);
  if (written !== -1 && tail.subarray(written).some((byte) => byte !== 0)) return false;
  const parsed = parseTranscript(content.subarray(0, at));
  return parsed.kind === "transcript" && digestOf(parsed.messages) === note.digest;
}

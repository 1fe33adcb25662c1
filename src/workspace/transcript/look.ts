/** What lies at the name of a transcript, beside what was noted of it. */
import { limits } from "../../domain/limits.ts";
import type { TranscriptMessage } from "../../domain/transcript.ts";
import type { TranscriptFile, TranscriptStore } from "../transcript-store.ts";
import { parseTranscript, tooLarge } from "./format.ts";
import { digestOf, type SessionNote } from "./notes.ts";

export type Look =
  | { kind: "absent" }
  /** It says what was noted. `content` is null where the stamp alone told so, without reading. */
  | { kind: "same"; file: TranscriptFile; content: Uint8Array | null }
  /** It says something else, or nothing was noted of it. */
  | { kind: "changed"; file: TranscriptFile; content: Uint8Array; messages: TranscriptMessage[] }
  | { kind: "unreadable"; file: TranscriptFile; reason: string; content: Uint8Array | null };

/** Costs the same for every length, unless somebody touched the file. */
export async function lookAt(
  store: TranscriptStore,
  { workspaceId, name }: { workspaceId: string; name: string },
  note: SessionNote | null,
): Promise<Look> {
  const found = await store.stat(workspaceId, name);
  if (found === null) return { kind: "absent" };
  if (note?.stamp === found.stamp) return { kind: "same", file: found, content: null };
  const read = await store.read(workspaceId, name);
  if (read === null) return { kind: "absent" };
  const { content, ...file } = read;
  if (content === null) return lookAtUnread(file, note);
  const parsed = parseTranscript(content);
  if (parsed.kind === "unreadable") return { ...parsed, file, content };
  const isSame = note !== null && digestOf(parsed.messages) === note.digest;
  return isSame ? { kind: "same", file, content } : { kind: "changed", file, content, messages: parsed.messages };
}

/** A conversation may grow beyond what is read: as long as it has the size that was noted, it is the one that was written. */
function lookAtUnread(file: TranscriptFile, note: SessionNote | null): Look {
  const isTooLarge = file.bytes > limits.transcriptBytesMax;
  if (isTooLarge && file.bytes === note?.bytes) return { kind: "same", file, content: null };
  const reason = isTooLarge ? tooLarge(file.bytes) : "it is no plain file";
  return { kind: "unreadable", file, reason, content: null };
}

/** Whether a person would say that something is in it: an imported conversation has at least one message with words. */
export function hasWords(messages: readonly TranscriptMessage[]): boolean {
  return messages.some(({ text }) => text.trim() !== "");
}

/**
 * Whether the content is what the note covers and then a beginning of `added`, as a process or a machine that died
 * while it appended leaves it: nothing in it is a person's. After power loss the end may be zeros.
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

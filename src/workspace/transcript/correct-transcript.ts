/** Reads `session.md` for a person, and replaces it with what the person made of it (W5). */
import { AptoveError } from "../../domain/errors.ts";
import { sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { TranscriptFault, TranscriptText } from "../../domain/transcript.ts";
import { currentTranscriptName, type TranscriptFile, type TranscriptStore } from "../transcript-store.ts";
import { parseTranscript } from "./format.ts";
import { unreadReason } from "./inspect-transcript.ts";
import type { LockedTranscripts } from "./locked-transcripts.ts";

type ReadFile = (TranscriptFile & { content: Uint8Array | null }) | null;

export async function readTranscript(store: TranscriptStore, workspaceId: string): Promise<TranscriptText> {
  const file: ReadFile = await store.read(workspaceId, currentTranscriptName);
  if (file !== null && file.content === null) {
    return { text: null, hash: null, bytes: file.bytes, fault: { reason: unreadReason(file), line: null } };
  }
  return shownText(file?.content ?? new Uint8Array());
}

function shownText(content: Uint8Array): TranscriptText {
  const bytes = content.length;
  const hash = sha256(content);
  if (bytes > limits.transcriptEditBytesMax)
    return { text: null, hash, bytes, fault: { reason: tooLong(bytes), line: null } };
  const text = decoded(content);
  return { text, hash, bytes, fault: faultOf(content) };
}

function tooLong(bytes: number): string {
  return `it has ${bytes} bytes, and at most ${limits.transcriptEditBytesMax} are shown here; edit the file on the disk`;
}

/** Returns the text with the byte order mark that it may have, so that it is written back as it was. Null if it is not UTF-8. */
function decoded(content: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return null;
  }
}

function faultOf(content: Uint8Array): TranscriptFault | null {
  const parsed = parseTranscript(content);
  return parsed.kind === "transcript" ? null : { reason: parsed.reason, line: parsed.line };
}

/** Returns the bytes of a correction. Throws `transcript_invalid` if they would not be read back as a conversation. */
export function checkedCorrection(text: string): Uint8Array {
  const content = new TextEncoder().encode(text);
  const fault = correctionFault(text, content);
  if (fault === null) return content;
  const { reason, line } = fault;
  throw new AptoveError("transcript_invalid", `the text cannot be a transcript: ${reason}`, { facts: { line } });
}

function correctionFault(text: string, content: Uint8Array): TranscriptFault | null {
  if (!text.isWellFormed()) return { reason: "it is not valid Unicode text", line: null };
  if (content.length > limits.transcriptEditBytesMax) return { reason: tooLong(content.length), line: null };
  return faultOf(content);
}

/** Replaces the file under its lock. Throws `transcript_changed`, with nothing written, if it is not what the person saw. */
export async function correctTranscript(
  locked: LockedTranscripts,
  { content, expectedHash }: { content: Uint8Array; expectedHash: string },
): Promise<TranscriptText> {
  const file = await locked.readCurrent();
  const isAsSeen = file === null ? expectedHash === sha256("") : hashOf(file) === expectedHash;
  if (!isAsSeen || !(await locked.replaceCurrent(file?.stamp ?? null, content))) {
    throw new AptoveError("transcript_changed", "session.md was changed since you read it; compare both texts");
  }
  return shownText(content);
}

function hashOf({ content }: NonNullable<ReadFile>): string | null {
  return content === null ? null : sha256(content);
}

/**
 * What aptove remembers of the transcripts of one workspace, in `transcripts.json`: how far each session's file was
 * written, and what is being done to one (docs/formats/transcript.md). By them a turn is appended without reading the
 * file, a person's edit is told from what aptove wrote, and what a crash left half done is finished.
 */
import { z } from "zod";
import { AptoveError } from "../../domain/errors.ts";
import { isId, sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { TranscriptMessage } from "../../domain/transcript.ts";

/** How far the transcript of one session was written. */
const sessionNote = z.object({
  id: z.string().refine(isId),
  /** The last turns in it, newest first. */
  turns: z.array(z.string()).min(1),
  messages: z.int().nonnegative(),
  /** Over its messages, see `digestOf`. */
  digest: z.string(),
  bytes: z.int().nonnegative(),
  /** Of the file, as the store gave it; empty: the file has to be read before anything is appended. */
  stamp: z.string(),
});

/** A change that was begun. It is noted before and finished by whoever comes next. */
const intent = z.object({
  /** What the session's note will be. */
  next: sessionNote,
  /** What is appended, at which byte; null: the whole file is replaced. */
  append: z.object({ at: z.int().nonnegative(), text: z.string() }).nullable(),
  becomesCurrent: z.boolean(),
});

const notesShape = z.object({
  version: z.literal(1),
  /** The session whose transcript lies at `session.md`; null: a person's file lies there, or none. */
  current: z.string().nullable(),
  /** Milliseconds since the epoch when `session.md` was cleared, deleted or put aside; a session that began before does not take the place. */
  vacatedAt: z.number().nullable(),
  /** The stamp of `session.md` when it was found to be a person's. */
  editedStamp: z.string().nullable(),
  /** Newest first. */
  sessions: z.array(sessionNote),
  intent: intent.nullable(),
});

export type SessionNote = z.infer<typeof sessionNote>;
export type Intent = z.infer<typeof intent>;
export type Notes = z.infer<typeof notesShape>;

export const emptyNotes: Notes = {
  version: 1,
  current: null,
  vacatedAt: null,
  editedStamp: null,
  sessions: [],
  intent: null,
};

/** Null: they are damaged. Throws `data_newer`. */
export function parseNotes(content: Uint8Array): Notes | null {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
  } catch {
    return null;
  }
  const notes = notesShape.safeParse(value);
  if (notes.success) return notes.data;
  const version = z.object({ version: z.int().gt(1) }).safeParse(value);
  if (!version.success) return null;
  const detail = `the notes of the transcripts have the version ${version.data.version}, this version reads 1; update aptove`;
  throw new AptoveError("data_newer", detail, { facts: { found: version.data.version, known: 1 } });
}

export function renderNotes(notes: Notes): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(notes, null, 1)}\n`);
}

export function noteOf(notes: Notes, sessionId: string | null): SessionNote | null {
  return notes.sessions.find(({ id }) => id === sessionId) ?? null;
}

/** With this note in front; those of other sessions that are too many come back as `pruned`. */
export function withNote(notes: Notes, note: SessionNote): { notes: Notes; pruned: SessionNote[] } {
  const others = notes.sessions.filter(({ id }) => id !== note.id);
  const pruned = others.slice(limits.transcriptsMax - 1).filter(({ id }) => id !== notes.current);
  return { notes: { ...notes, sessions: [note, ...others.filter((other) => !pruned.includes(other))] }, pruned };
}

export function withoutNote(notes: Notes, sessionId: string): Notes {
  return { ...notes, sessions: notes.sessions.filter(({ id }) => id !== sessionId) };
}

/** Turns that are remembered of each session: a turn that comes late, after the one that followed it, is known by them. */
const turnsMax = 4;

/** The note of a transcript of these turns, oldest first, below what `before` covers; bytes and stamp are the file's. */
export function noteOn(
  before: Pick<SessionNote, "turns" | "messages" | "digest">,
  { id, turns }: { id: string; turns: readonly { turnId: string; messages: readonly TranscriptMessage[] }[] },
): SessionNote {
  const messages = turns.flatMap((turn) => turn.messages);
  return {
    id,
    turns: [...turns.map(({ turnId }) => turnId).toReversed(), ...before.turns].slice(0, turnsMax),
    messages: before.messages + messages.length,
    digest: digestOf(messages, before.digest),
    bytes: 0,
    stamp: "",
  };
}

export const nothingNoted: Pick<SessionNote, "turns" | "messages" | "digest"> = { turns: [], messages: 0, digest: "" };

/** A chain over messages, so that what is appended is added without reading what was there. */
export function digestOf(messages: readonly TranscriptMessage[], before = ""): string {
  return messages.reduce(
    (digest, { role, text }) => sha256(`${digest} ${role} ${sha256(text.toWellFormed())}`),
    before,
  );
}

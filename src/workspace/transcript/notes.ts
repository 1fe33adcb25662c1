/**
 * The notes about the transcripts of one workspace, in `transcripts.json`: how far each session's file was written, and the
 * changes since, each noted before it starts (docs/formats/transcript.md). With them, a turn is appended without reading the
 * file, a person's edit is distinguished from aptove's own writing, and a change that a crash interrupted is finished.
 */
import * as z from "zod";
import { AptoveError } from "../../domain/errors.ts";
import { isId, sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { TranscriptMessage } from "../../domain/transcript.ts";

/** The note about how far the transcript of one session was written. */
const sessionNote = z.object({
  id: z.string().refine(isId),
  /** The ids of its last turns that can be continued, newest first. */
  turns: z.array(z.string()),
  messages: z.int().nonnegative(),
  /** The digest of its messages, see `digestOf`. */
  digest: z.string(),
  bytes: z.int().nonnegative(),
  /** The stamp of the file from the store. Empty: the file must be read before the next append. */
  stamp: z.string(),
});

/** A change. It is noted before it starts; after a crash, the next caller finishes it. */
const intent = z.object({
  /** The session's note after the change. */
  next: sessionNote,
  /** The text to append and its byte position. Null: the whole file is replaced. */
  append: z.object({ at: z.int().nonnegative(), text: z.string() }).nullable(),
  becomesCurrent: z.boolean(),
});

const notesShape = z.object({
  version: z.literal(2),
  /** The id of the session whose transcript is `session.md`. Null if the file is a person's, or missing. */
  current: z.string().nullable(),
  /** The time when `session.md` was cleared, deleted or put aside, in milliseconds since the epoch. A session that began before it does not become current. */
  vacatedAt: z.number().nullable(),
  /** The stamp of `session.md` when it was found to be a person's. */
  editedStamp: z.string().nullable(),
  /** The notes of all sessions, newest first. */
  sessions: z.array(sessionNote),
});

/** Version 1 is one JSON document with at most one change in it. */
const firstShape = notesShape.extend({ version: z.literal(1), intent: intent.nullable() });

export type SessionNote = z.infer<typeof sessionNote>;
export type TranscriptIntent = z.infer<typeof intent>;
export type TranscriptNotes = z.infer<typeof notesShape>;

export const emptyNotes: TranscriptNotes = {
  version: 2,
  current: null,
  vacatedAt: null,
  editedStamp: null,
  sessions: [],
};

/** The notes as they are stored. */
export interface StoredNotes {
  notes: TranscriptNotes;
  /** The last change that was noted, which may not be complete. Null: there is none. */
  intent: TranscriptIntent | null;
  /** True if a line can be appended. False after a crash that left a torn one. */
  isWhole: boolean;
}

/** Parses the notes. Null if they are damaged. Throws `data_newer`. */
export function parseNotes(content: Uint8Array): StoredNotes | null {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return null;
  }
  const [first = "", ...others] = text.split("\n");
  // What follows the last line break is nothing, or a line that a crash tore.
  const torn = others.pop();
  const value = jsonOf(first) ?? jsonOf(text);
  const notes = notesShape.safeParse(value);
  if (!notes.success) return parseFirst(value);
  const changes = z.array(intent).safeParse(others.map(jsonOf));
  if (!changes.success) return null;
  // A change is noted after the one before is complete. What file it left is not noted, so that is looked at again.
  const complete = changes.data
    .slice(0, -1)
    .reduce((before, { next }) => withNote(before, { ...next, stamp: "" }).notes, notes.data);
  return { notes: complete, intent: changes.data.at(-1) ?? null, isWhole: torn === "" };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parseFirst(value: unknown): StoredNotes | null {
  const first = firstShape.safeParse(value);
  if (first.success) {
    const { intent: change, ...notes } = first.data;
    return { notes: { ...notes, version: 2 }, intent: change, isWhole: false };
  }
  const newer = z.object({ version: z.int().gt(2) }).safeParse(value);
  if (!newer.success) return null;
  const { version } = newer.data;
  const detail = `the notes of the transcripts have version ${version}, but this aptove reads version 2; update aptove`;
  throw new AptoveError("data_newer", detail, { facts: { found: version, known: 2 } });
}

/** Returns the notes as bytes: a line with how far the transcripts were written. A change is one more line. */
export function renderNotes(notes: TranscriptNotes): Uint8Array {
  return lineOf(notes);
}

export function renderIntent(change: TranscriptIntent): Uint8Array {
  return lineOf(change);
}

function lineOf(value: TranscriptNotes | TranscriptIntent): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(value)}\n`);
}

export function noteOf(notes: TranscriptNotes, sessionId: string | null): SessionNote | null {
  return notes.sessions.find(({ id }) => id === sessionId) ?? null;
}

/** Returns the notes with this one first. Notes over the limit are removed and returned as `pruned`. */
export function withNote(notes: TranscriptNotes, note: SessionNote): { notes: TranscriptNotes; pruned: SessionNote[] } {
  const others = notes.sessions.filter(({ id }) => id !== note.id);
  const pruned = others.slice(limits.transcriptsMax - 1).filter(({ id }) => id !== notes.current);
  return { notes: { ...notes, sessions: [note, ...others.filter((other) => !pruned.includes(other))] }, pruned };
}

export function withoutNote(notes: TranscriptNotes, sessionId: string): TranscriptNotes {
  return { ...notes, sessions: notes.sessions.filter(({ id }) => id !== sessionId) };
}

/** The number of turns that each note has. With them, a turn that arrives after its successor is recognized. */
const turnsMax = 4;

/** The messages of a turn. A turn without an id is never continued: it failed and did nothing. */
export interface NotedTurn {
  turnId: string | null;
  messages: readonly TranscriptMessage[];
}

/** Returns the note of a transcript with these turns, oldest first, after those that `before` covers. Bytes and stamp are set later, from the file. */
export function noteOn(
  before: Pick<SessionNote, "turns" | "messages" | "digest">,
  { id, turns }: { id: string; turns: readonly NotedTurn[] },
): SessionNote {
  const messages = turns.flatMap((turn) => turn.messages);
  return {
    id,
    turns: [...turns.flatMap(({ turnId }) => turnId ?? []).toReversed(), ...before.turns].slice(0, turnsMax),
    messages: before.messages + messages.length,
    digest: digestOf(messages, before.digest),
    bytes: 0,
    stamp: "",
  };
}

export const emptyNote: Pick<SessionNote, "turns" | "messages" | "digest"> = { turns: [], messages: 0, digest: "" };

/** Returns a chained digest of messages. An append extends it without reading the earlier messages. */
export function digestOf(messages: readonly TranscriptMessage[], before = ""): string {
  return messages.reduce(
    (digest, { role, text }) => sha256(`${digest} ${role} ${sha256(text.toWellFormed())}`),
    before,
  );
}

/**
 * The transcripts of workspaces (W3–W5): every finished turn is written into the file of its session, `session.md` is
 * the file of the session in which a turn finished last, and what a person writes there is where the next session
 * begins. The store of turns is the truth: a transcript that is missing or went astray is made anew from it.
 */
import { AptoveError } from "../../domain/errors.ts";
import type { TranscribedTurn, TranscriptStanding } from "../../domain/transcript.ts";
import { currentName } from "../transcript-store.ts";
import { LockedTranscripts, readNotes, type TranscriptParts } from "./locked-transcripts.ts";
import { hasWords, lookAt } from "./look.ts";
import { digestOf, emptyNotes, noteOf } from "./notes.ts";
import { writeTurn } from "./write-turn.ts";

export interface Transcripts {
  /** Where the workspace's next session begins (W3, W5). Throws `workspace_unknown`, `workspace_invalid`, `workspace_busy`. */
  standing(workspaceId: string): Promise<TranscriptStanding>;
  /** Never rejects: what fails is reported, and the next turn makes up for it. Turns of what is no workspace are written nowhere. */
  turnFinished(workspaceId: string, turn: TranscribedTurn): Promise<void>;
  /** Without waiting for whoever writes: what `session.md` holds now. */
  show(workspaceId: string): Promise<ShownTranscript>;
  /** Puts `session.md` aside; the next session begins empty. */
  clear(workspaceId: string): Promise<void>;
}

export interface ShownTranscript {
  /** Null: no session has written it. */
  sessionId: string | null;
  /** Null: it cannot be read. */
  messages: number | null;
  bytes: number;
  /** A person changed it since: the next session begins with what it says. */
  isEdited: boolean;
}

/** How often a turn is tried to be written that somebody's edit of the file came before. */
const attemptsMax = 5;

export function createTranscripts(parts: TranscriptParts): Transcripts {
  return {
    standing: (workspaceId) => LockedTranscripts.run(parts, workspaceId, (locked) => standing(parts, locked)),
    turnFinished: (workspaceId, turn) => turnFinished(parts, workspaceId, turn),
    show: (workspaceId) => show(parts, workspaceId),
    clear: (workspaceId) => LockedTranscripts.run(parts, workspaceId, clear),
  };
}

async function standing(parts: TranscriptParts, locked: LockedTranscripts): Promise<TranscriptStanding> {
  const found = await locked.standing(await locked.lookAtCurrent());
  const { warnings, workspaceId } = locked;
  if (found.kind === "vacant") return { kind: "empty", warnings };
  if (found.kind === "own") return { kind: "session", sessionId: found.sessionId, warnings };
  const told = digestOf(found.messages);
  const adopt = (turn: TranscribedTurn): Promise<void> =>
    LockedTranscripts.run(parts, workspaceId, (later) => adoptEdit(later, { turn, told }));
  return { kind: "edited", messages: found.messages, warnings, adopt };
}

/** Notes the file as the transcript of the session that was begun with it. Not one byte of it is written: it is the person's. */
async function adoptEdit(
  locked: LockedTranscripts,
  { turn, told }: { turn: TranscribedTurn; told: string },
): Promise<void> {
  const look = await locked.lookAtCurrent();
  // Whoever edited it once more meanwhile begins one more session with that.
  if (look.kind !== "changed" || digestOf(look.messages) !== told) return;
  const { file, content, messages } = look;
  // What does not end with a line break is read again before anything is appended.
  const stamp = content.at(-1) === 0x0a ? file.stamp : "";
  const note = { id: turn.sessionId, turns: [turn.turnId], messages: messages.length, digest: told };
  await locked.adopt({ ...note, bytes: file.bytes, stamp });
}

async function turnFinished(parts: TranscriptParts, workspaceId: string, turn: TranscribedTurn): Promise<void> {
  const place = `turn ${turn.turnId} into the transcript of workspace ${workspaceId}`;
  try {
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      if (await LockedTranscripts.run(parts, workspaceId, (locked) => writeTurn(locked, turn))) return;
    }
    parts.report(`could not write ${place}: the file is changed all the time; the next turn makes up for it`);
  } catch (error) {
    const isNowhere = error instanceof AptoveError && ["workspace_unknown", "workspace_invalid"].includes(error.code);
    if (!isNowhere) parts.report(`could not write ${place}; the next turn makes up for it`, error);
  }
}

async function clear(locked: LockedTranscripts): Promise<void> {
  const look = await locked.lookAtCurrent();
  if (look.kind === "same") await locked.putCurrentAside();
  else if (look.kind === "unreadable" || (look.kind === "changed" && hasWords(look.messages))) {
    await locked.keepAside(currentName, look.kind === "changed" ? "edited" : "unreadable");
  }
  await locked.vacate();
}

async function show({ store }: TranscriptParts, workspaceId: string): Promise<ShownTranscript> {
  const notes = (await readNotes(store, workspaceId)) ?? emptyNotes;
  const note = noteOf(notes, notes.current);
  const look = await lookAt(store, { workspaceId, name: currentName }, note);
  const sessionId = note?.id ?? null;
  switch (look.kind) {
    case "absent":
      return { sessionId: null, messages: 0, bytes: 0, isEdited: note !== null };
    case "same":
      return { sessionId, messages: note?.messages ?? 0, bytes: look.file.bytes, isEdited: false };
    case "unreadable":
      return { sessionId, messages: null, bytes: look.file.bytes, isEdited: true };
    case "changed":
      return { sessionId, messages: look.messages.length, bytes: look.file.bytes, isEdited: true };
  }
}

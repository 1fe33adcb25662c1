/**
 * The transcripts of workspaces (W3–W5). Every finished turn is written into the file of its session. `session.md` is the file
 * of the session whose turn finished last, and a person's edit of it becomes the start of the next session. The store of
 * turns is authoritative: a missing or wrong transcript is made again from it.
 */
import { AptoveError } from "../../domain/errors.ts";
import type {
  SessionBeginning,
  ShownTranscript,
  TranscribedTurn,
  TranscriptCorrection,
  TranscriptText,
} from "../../domain/transcript.ts";
import { currentTranscriptName } from "../transcript-store.ts";
import { checkedCorrection, correctTranscript, readTranscript } from "./correct-transcript.ts";
import { KnownNotes } from "./known-notes.ts";
import { LockedTranscripts, type LockedDependencies, type TranscriptDependencies } from "./locked-transcripts.ts";
import { hasWords, inspectTranscript, type TranscriptInspection } from "./inspect-transcript.ts";
import { digestOf, emptyNotes, noteOf, type SessionNote } from "./notes.ts";
import { writeTurns } from "./write-turn.ts";

export interface Transcripts {
  /** Returns the start of the workspace's next session (W3, W5). Throws `workspace_unknown`, `workspace_invalid`, `workspace_busy`. */
  nextBeginning(workspaceId: string): Promise<SessionBeginning>;
  /**
   * Writes finished turns in their order, without a wait for the disk. `session.md` becomes that of the last one. Never rejects: a failure
   * is reported, and the next turn writes the missing part. Without a workspace nothing is written.
   */
  turnsFinished(workspaceId: string, turns: readonly TranscribedTurn[]): Promise<void>;
  /** Resolves when what was written survives a loss of power. Never rejects. */
  sync(workspaceId: string): Promise<void>;
  /** Returns facts about the content of `session.md` now. Does not wait for a writer. */
  show(workspaceId: string): Promise<ShownTranscript>;
  /** Returns the content of `session.md` now. Does not wait for a writer. */
  read(workspaceId: string): Promise<TranscriptText>;
  /**
   * Replaces the content of `session.md` as an edit on the disk does, and returns it: the next session begins with it (W5). When
   * it resolves, the change survives a loss of power. Throws `transcript_invalid` for a text that cannot be read back, and
   * `transcript_changed` if the file does not have `expectedHash` any more; then nothing was written.
   */
  correct(workspaceId: string, correction: TranscriptCorrection): Promise<TranscriptText>;
  /** Puts `session.md` aside; the next session begins empty. */
  clear(workspaceId: string): Promise<void>;
}

/** The most attempts to write a turn while another writer keeps changing the file. */
const attemptsMax = 5;

export function createTranscripts(given: TranscriptDependencies): Transcripts {
  const dependencies = { ...given, known: new KnownNotes() };
  return {
    nextBeginning: (workspaceId) =>
      LockedTranscripts.run(dependencies, workspaceId, (locked) => nextBeginning(dependencies, locked)),
    turnsFinished: (workspaceId, turns) => turnsFinished(dependencies, workspaceId, turns),
    sync: (workspaceId) => sync(dependencies, workspaceId),
    show: (workspaceId) => show(dependencies, workspaceId),
    read: (workspaceId) => readTranscript(dependencies.store, workspaceId),
    correct: (workspaceId, correction) => correct(dependencies, workspaceId, correction),
    clear: (workspaceId) => LockedTranscripts.run(dependencies, workspaceId, clear),
  };
}

async function nextBeginning(dependencies: LockedDependencies, locked: LockedTranscripts): Promise<SessionBeginning> {
  const found = await locked.currentState(await locked.inspectCurrent());
  const { warnings, workspaceId } = locked;
  if (found.kind === "vacant") return { kind: "empty", warnings };
  if (found.kind === "own") return { kind: "session", sessionId: found.sessionId, warnings };
  const editDigest = digestOf(found.messages);
  const adopt = (turn: TranscribedTurn): Promise<void> =>
    LockedTranscripts.run(dependencies, workspaceId, (later) => adoptEdit(later, { turn, editDigest }));
  return { kind: "edited", messages: found.messages, warnings, adopt };
}

/** Notes the file as the transcript of the session that began with it. Does not write to the file, which is the person's. */
async function adoptEdit(
  locked: LockedTranscripts,
  { turn, editDigest }: { turn: TranscribedTurn; editDigest: string },
): Promise<void> {
  const look = await locked.inspectCurrent();
  // If the person has edited it again since, that edit begins another session.
  if (look.kind !== "changed" || digestOf(look.messages) !== editDigest) return;
  const { file, content, messages } = look;
  // A file without a line break at its end must be read again before the next append.
  const stamp = content.at(-1) === 0x0a ? file.stamp : "";
  const note = { id: turn.sessionId, turns: [turn.turnId], messages: messages.length, digest: editDigest };
  await locked.adopt({ ...note, bytes: file.bytes, stamp });
}

async function turnsFinished(
  dependencies: LockedDependencies,
  workspaceId: string,
  turns: readonly TranscribedTurn[],
): Promise<void> {
  const { report } = dependencies;
  // A turn that is written late, because a person edited its file, does not replace one that finished after it.
  const last = turns.at(-1);
  let left = turns;
  const what = (): string => {
    const ids = left.map(({ turnId }) => turnId).join(", ");
    return `turn ${ids} into the transcript of workspace ${workspaceId}`;
  };
  try {
    for (let attempt = 1; attempt <= attemptsMax && left.length > 0; attempt += 1) {
      left = await LockedTranscripts.run(dependencies, workspaceId, (locked) => writeTurns(locked, left, last));
    }
    if (left.length > 0)
      report(`could not write ${what()}: another program keeps changing the file; the next turn writes it`);
  } catch (error) {
    if (!hasNoWorkspace(error)) report(`could not write ${what()}; the next turn writes it`, error);
  }
}

function hasNoWorkspace(error: unknown): boolean {
  return error instanceof AptoveError && ["workspace_unknown", "workspace_invalid"].includes(error.code);
}

async function sync(dependencies: LockedDependencies, workspaceId: string): Promise<void> {
  const { store, known, report } = dependencies;
  try {
    if (known.hasLines(workspaceId))
      await LockedTranscripts.run(dependencies, workspaceId, (locked) => locked.gather());
  } catch (error) {
    // The next process that needs them gathers them.
    if (!hasNoWorkspace(error)) report(`the notes of workspace ${workspaceId} could not be gathered`, error);
  }
  try {
    await store.sync(workspaceId);
  } catch (error) {
    report(
      `the transcript of workspace ${workspaceId} could not be synced; a loss of power may undo its last change`,
      error,
    );
  }
}

async function correct(
  dependencies: LockedDependencies,
  workspaceId: string,
  { text, expectedHash }: TranscriptCorrection,
): Promise<TranscriptText> {
  const content = checkedCorrection(text);
  const corrected = await LockedTranscripts.run(dependencies, workspaceId, (locked) =>
    correctTranscript(locked, { content, expectedHash }),
  );
  await dependencies.store.sync(workspaceId);
  return corrected;
}

async function clear(locked: LockedTranscripts): Promise<void> {
  const look = await locked.inspectCurrent();
  if (look.kind === "same") await locked.putCurrentAside();
  else if (look.kind === "unreadable" || (look.kind === "changed" && hasWords(look.messages))) {
    await locked.keepAside(currentTranscriptName, look.kind === "changed" ? "edited" : "unreadable");
  }
  await locked.vacate();
}

async function show({ store, known }: LockedDependencies, workspaceId: string): Promise<ShownTranscript> {
  const { notes, intent } = (await known.find(store, workspaceId)) ?? { notes: emptyNotes, intent: null };
  const at = { workspaceId, name: currentTranscriptName };
  // The change that was noted last is usually complete.
  const next = intent?.becomesCurrent === true ? intent.next : null;
  const changed = next === null ? null : await inspectTranscript(store, at, next);
  if (next !== null && changed?.kind === "same") return shown(next, changed);
  const note = noteOf(notes, notes.current);
  return shown(note, await inspectTranscript(store, at, note));
}

function shown(note: SessionNote | null, look: TranscriptInspection): ShownTranscript {
  const sessionId = note?.id ?? null;
  switch (look.kind) {
    case "absent":
      return { sessionId: null, messages: 0, bytes: 0, isEdited: note !== null };
    case "same":
      return { sessionId, messages: note?.messages ?? 0, bytes: look.file.bytes, isEdited: false };
    case "unreadable":
      return { sessionId, messages: null, bytes: look.file.bytes, isEdited: true };
    case "changed":
      // A new workspace has an empty file.
      return {
        sessionId,
        messages: look.messages.length,
        bytes: look.file.bytes,
        isEdited: note !== null || look.file.bytes > 0,
      };
  }
}

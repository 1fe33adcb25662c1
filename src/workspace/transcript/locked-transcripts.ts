/**
 * The transcripts of one workspace while they are locked: the notes, the state of `session.md`, and the changes. Each change
 * is first noted as an intent, then carried out. The next intent says that it is complete; `gather` says it with less text. The
 * next caller finishes what a crash interrupted (B3).
 */
import type { Millis } from "../../domain/ids.ts";
import type { TranscriptMessage } from "../../domain/transcript.ts";
import {
  asideTranscriptName,
  currentTranscriptName,
  keptTranscriptName,
  transcriptNotesName,
  type TranscriptFile,
  type TranscriptStore,
} from "../transcript-store.ts";
import { hasWords, isTornAppend, inspectTranscript, type TranscriptInspection } from "./inspect-transcript.ts";
import type { FoundNotes, KnownNotes } from "./known-notes.ts";
import {
  emptyNotes,
  noteOf,
  renderIntent,
  renderNotes,
  withNote,
  withoutNote,
  type TranscriptIntent,
  type TranscriptNotes,
  type SessionNote,
} from "./notes.ts";

export interface TranscriptDependencies {
  store: TranscriptStore;
  now(): Millis;
  /** Reports a failure to the operator. */
  report(message: string, error?: unknown): void;
}

export interface LockedDependencies extends TranscriptDependencies {
  known: KnownNotes;
}

/** The size of the notes in bytes above which a change is noted with all of them, and no longer in a line of its own. */
const lineNotesBytesMax = 262_144;

/** The state of `session.md`: the current session's own transcript, none, or a text that a person edited. */
export type SessionFileState =
  | { kind: "own"; sessionId: string }
  | { kind: "vacant" }
  | { kind: "edited"; file: TranscriptFile; messages: TranscriptMessage[] };

export class LockedTranscripts {
  readonly #dependencies: LockedDependencies;
  readonly workspaceId: string;
  notes: TranscriptNotes = emptyNotes;
  /** The file of the notes. Null: there is none to which a line can be appended. */
  #notesFile: TranscriptFile | null = null;
  /** True if the file has lines of complete changes. */
  #hasLines = false;
  /** Warnings for the person about files that could not be read. */
  readonly warnings: string[] = [];

  private constructor(dependencies: LockedDependencies, workspaceId: string) {
    this.#dependencies = dependencies;
    this.workspaceId = workspaceId;
  }

  /** Runs the body under the lock, after finishing a change that another process left incomplete. */
  static run<T>(
    dependencies: LockedDependencies,
    workspaceId: string,
    body: (transcripts: LockedTranscripts) => Promise<T>,
  ): Promise<T> {
    return dependencies.store.locked(workspaceId, async () => {
      const transcripts = new LockedTranscripts(dependencies, workspaceId);
      await transcripts.#load();
      return await body(transcripts);
    });
  }

  async #load(): Promise<void> {
    const { known } = this.#dependencies;
    const found = await known.find(this.#store, this.workspaceId);
    if (found === null)
      return this.#dependencies.report(
        `${transcriptNotesName} of workspace ${this.workspaceId} is damaged; it is made again`,
      );
    const { notes, intent, isWhole, file, hasLines } = found;
    this.notes = notes;
    this.#notesFile = isWhole ? file : null;
    this.#hasLines = hasLines;
    if (intent !== null) await this.#finish(intent);
  }

  get #store(): TranscriptStore {
    return this.#dependencies.store;
  }

  async save(notes: TranscriptNotes): Promise<void> {
    this.#notesFile = await this.#store.write(this.workspaceId, transcriptNotesName, { content: renderNotes(notes) });
    this.notes = notes;
    this.#hasLines = false;
    this.#remember();
  }

  /** Notes complete changes in the first line. Then any process knows the files that they left. */
  async gather(): Promise<void> {
    if (this.#hasLines) await this.save(this.notes);
  }

  #remember(): void {
    const found: FoundNotes = {
      notes: this.notes,
      intent: null,
      isWhole: this.#notesFile !== null,
      file: this.#notesFile,
      hasLines: this.#hasLines,
    };
    this.#dependencies.known.remember(this.workspaceId, found);
  }

  /** Notes a change before it starts. */
  async #begin(intent: TranscriptIntent): Promise<void> {
    const line = renderIntent(intent);
    const file = this.#notesFile;
    const noted =
      file === null || file.bytes > lineNotesBytesMax
        ? null
        : await this.#store.append(this.workspaceId, transcriptNotesName, { stamp: file.stamp, content: line });
    const whole = (): Uint8Array => Buffer.concat([renderNotes(this.notes), line]);
    this.#notesFile = noted ?? (await this.#store.write(this.workspaceId, transcriptNotesName, { content: whole() }));
    this.#hasLines = true;
  }

  nameOf(sessionId: string): string {
    return this.notes.current === sessionId ? currentTranscriptName : asideTranscriptName(sessionId);
  }

  inspect(name: string, note: SessionNote | null): Promise<TranscriptInspection> {
    return inspectTranscript(this.#store, { workspaceId: this.workspaceId, name }, note);
  }

  /** Returns the content of the file with this stamp. Null if the file is gone, changed or too large. */
  async contentOf(name: string, { stamp }: TranscriptFile): Promise<Uint8Array | null> {
    const read = await this.#store.read(this.workspaceId, name);
    return read?.stamp === stamp ? read.content : null;
  }

  /** Reads `session.md`. Null if there is none; its content is null if it is not read. */
  readCurrent(): ReturnType<TranscriptStore["read"]> {
    return this.#store.read(this.workspaceId, currentTranscriptName);
  }

  /**
   * Writes a person's text to `session.md` and notes nothing, as an editor does. Returns false, with nothing written, if the file does not have
   * the stamp any more. Null: there must be no file.
   */
  async replaceCurrent(stamp: string | null, content: Uint8Array): Promise<boolean> {
    return (await this.#store.write(this.workspaceId, currentTranscriptName, { stamp, content })) !== null;
  }

  inspectCurrent(): Promise<TranscriptInspection> {
    return this.inspect(currentTranscriptName, noteOf(this.notes, this.notes.current));
  }

  /** Returns true if `session.md` is still the file that was found to be a person's. Does not read it. */
  async isStillEdited(): Promise<boolean> {
    const { editedStamp } = this.notes;
    if (editedStamp === null) return false;
    return (await this.#store.stat(this.workspaceId, currentTranscriptName))?.stamp === editedStamp;
  }

  /** Returns the state of `session.md` after an inspection. Puts a file that cannot be read aside (W5). */
  async currentState(look: TranscriptInspection): Promise<SessionFileState> {
    const { current } = this.notes;
    if (look.kind === "same" && current !== null) return { kind: "own", sessionId: current };
    if (look.kind === "changed" && hasWords(look.messages)) {
      return { kind: "edited", file: look.file, messages: look.messages };
    }
    if (look.kind === "unreadable") {
      const kept = await this.keepAside(currentTranscriptName, "unreadable");
      const warning = `the transcript cannot be read: ${look.reason}; it is kept as ${kept}, and the next session begins empty`;
      this.warnings.push(warning);
      this.#dependencies.report(`workspace ${this.workspaceId}: ${warning}`);
      await this.vacate();
    } else if (current !== null) await this.vacate();
    return { kind: "vacant" };
  }

  /** Notes that no session has `session.md` from now on. */
  async vacate(): Promise<void> {
    await this.save({ ...this.#withoutCurrent(), vacatedAt: this.#dependencies.now() });
  }

  /** Notes that the file at `session.md` belongs to a person and to no session. */
  async leaveToPerson({ stamp }: TranscriptFile): Promise<void> {
    await this.save({ ...this.#withoutCurrent(), editedStamp: stamp });
  }

  #withoutCurrent(): TranscriptNotes {
    const { current } = this.notes;
    const others = current === null ? this.notes : withoutNote(this.notes, current);
    return { ...others, current: null, editedStamp: null };
  }

  /** Makes the file at `session.md` the transcript of the session that began with it. */
  async adopt(note: SessionNote): Promise<void> {
    const notes = this.#withoutCurrent();
    await this.#settle({ ...notes, current: note.id, vacatedAt: null }, note);
  }

  /** Moves the transcript of the current session to those of earlier ones. Does not save the notes. */
  async putCurrentAside(): Promise<void> {
    const { current } = this.notes;
    if (current === null) return;
    const aside = asideTranscriptName(current);
    // A file that the notes do not have may be a person's, so it is not replaced.
    if ((await this.#store.stat(this.workspaceId, aside)) !== null) await this.keepAside(aside, "edited");
    const { stamp } = await this.#store.move(this.workspaceId, currentTranscriptName, aside);
    const sessions = this.notes.sessions.map((note) => (note.id === current ? { ...note, stamp } : note));
    this.notes = { ...this.notes, current: null, sessions };
  }

  /** Renames a file so that it is no longer read or written. Returns the new name. */
  async keepAside(name: string, because: "edited" | "unreadable"): Promise<string> {
    for (let number = 1; ; number += 1) {
      const kept = keptTranscriptName(name, { at: this.#dependencies.now(), because, number });
      if ((await this.#store.stat(this.workspaceId, kept)) !== null) continue;
      await this.#store.move(this.workspaceId, name, kept);
      return kept;
    }
  }

  /**
   * Carries out a change. The stamp is that of the file, null if there is none. Returns false, with nothing done, if another writer
   * changed or made the file in the meantime.
   */
  async change(
    intent: TranscriptIntent,
    content: { stamp: string | null; whole: Uint8Array | null },
  ): Promise<boolean> {
    await this.#begin(intent);
    const file = await this.#write(intent, content);
    if (file === null) {
      await this.save(this.notes);
      return false;
    }
    if (!this.#isAppend(intent)) await this.#complete(intent, file);
    else {
      this.notes = withNote(this.notes, { ...intent.next, bytes: file.bytes, stamp: file.stamp }).notes;
      this.#remember();
    }
    return true;
  }

  /** True if the change only extends a file that has its note and keeps its name: the next line says that it is complete. */
  #isAppend({ next, append, becomesCurrent }: TranscriptIntent): boolean {
    const staysInPlace = !becomesCurrent || this.notes.current === next.id;
    return append !== null && staysInPlace && noteOf(this.notes, next.id) !== null;
  }

  async #write(
    { next, append }: TranscriptIntent,
    { stamp, whole }: { stamp: string | null; whole: Uint8Array | null },
  ): Promise<TranscriptFile | null> {
    const name = this.nameOf(next.id);
    if (whole !== null) return await this.#store.write(this.workspaceId, name, { stamp, content: whole });
    if (append === null || stamp === null) return await this.#store.stat(this.workspaceId, name);
    return await this.#store.append(this.workspaceId, name, { stamp, content: Buffer.from(append.text) });
  }

  /** Finishes the change of a process that ended. A change that did not reach the disk is dropped; the next turn writes it. */
  async #finish(intent: TranscriptIntent): Promise<void> {
    const aside = asideTranscriptName(intent.next.id);
    const isAside = (await this.#store.stat(this.workspaceId, aside)) !== null;
    const name = isAside && this.notes.current !== intent.next.id ? aside : currentTranscriptName;
    const file = await this.#finishFile(name, intent);
    if (file === null) await this.save(this.notes);
    else await this.#complete(intent, file);
  }

  async #finishFile(name: string, { next, append }: TranscriptIntent): Promise<TranscriptFile | null> {
    const look = await this.inspect(name, next);
    if (look.kind === "same") return look.file;
    const note = noteOf(this.notes, next.id);
    if (look.kind === "absent" || append === null || note === null) return null;
    const added = Buffer.from(append.text);
    if (!isTornAppend(look.content, { note, at: append.at, added })) return null;
    const content = Buffer.concat([look.content.subarray(0, append.at), added]);
    return await this.#store.write(this.workspaceId, name, { content });
  }

  async #complete({ next, becomesCurrent }: TranscriptIntent, { bytes, stamp }: TranscriptFile): Promise<void> {
    const note = { ...next, bytes, stamp };
    const moved = becomesCurrent && this.notes.current !== next.id ? await this.#makeCurrent(next.id) : null;
    if (moved === null) await this.#settle(this.notes, note);
    else {
      const current = { current: next.id, vacatedAt: null, editedStamp: null };
      await this.#settle({ ...this.notes, ...current }, { ...note, stamp: moved.stamp });
    }
  }

  /** Moves a session's file to `session.md`. Returns null if a person's file is there, which stays. */
  async #makeCurrent(sessionId: string): Promise<TranscriptFile | null> {
    const aside = asideTranscriptName(sessionId);
    // Both files were already moved before the process ended.
    if ((await this.#store.stat(this.workspaceId, aside)) === null) {
      return await this.#store.stat(this.workspaceId, currentTranscriptName);
    }
    const look = await this.inspectCurrent();
    if (look.kind === "same") await this.putCurrentAside();
    else if (look.kind === "changed" && !hasWords(look.messages) && this.notes.current === null) {
      await this.#store.remove(this.workspaceId, currentTranscriptName);
    } else if (look.kind !== "absent") return null;
    return await this.#store.move(this.workspaceId, aside, currentTranscriptName);
  }

  async #settle(before: TranscriptNotes, note: SessionNote): Promise<void> {
    const { notes, pruned } = withNote(before, note);
    await this.save(notes);
    for (const { id, stamp } of pruned) {
      const file = await this.#store.stat(this.workspaceId, asideTranscriptName(id));
      if (file?.stamp === stamp) await this.#store.remove(this.workspaceId, asideTranscriptName(id));
    }
  }
}

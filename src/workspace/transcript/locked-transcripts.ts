/**
 * The transcripts of one workspace while they are locked: the notes, what lies at `session.md`, and every change as an
 * intent that is noted, carried out, and noted as done. Whoever opens them finishes what a crash left between (B3).
 */
import type { Millis } from "../../domain/ids.ts";
import type { TranscriptMessage } from "../../domain/transcript.ts";
import {
  asideName,
  currentName,
  keptName,
  notesName,
  type TranscriptFile,
  type TranscriptStore,
} from "../transcript-store.ts";
import { hasWords, isTornAppend, lookAt, type Look } from "./look.ts";
import {
  emptyNotes,
  noteOf,
  parseNotes,
  renderNotes,
  withNote,
  withoutNote,
  type Intent,
  type Notes,
  type SessionNote,
} from "./notes.ts";

export interface TranscriptParts {
  store: TranscriptStore;
  now(): Millis;
  /** What went wrong behind the scenes, for the operator. */
  report(message: string, error?: unknown): void;
}

/** What lies at `session.md`. */
export type Standing =
  | { kind: "own"; sessionId: string }
  | { kind: "vacant" }
  | { kind: "edited"; file: TranscriptFile; messages: TranscriptMessage[] };

/** Null: they are damaged. Throws `data_newer`. */
export async function readNotes(store: TranscriptStore, workspaceId: string): Promise<Notes | null> {
  const found = await store.read(workspaceId, notesName);
  if (found === null) return emptyNotes;
  return found.content === null ? null : parseNotes(found.content);
}

export class LockedTranscripts {
  readonly #parts: TranscriptParts;
  readonly workspaceId: string;
  notes: Notes = emptyNotes;
  /** For the person: what could not be read. */
  readonly warnings: string[] = [];

  private constructor(parts: TranscriptParts, workspaceId: string) {
    this.#parts = parts;
    this.workspaceId = workspaceId;
  }

  /** Runs the body with nothing left half done by others. */
  static run<T>(
    parts: TranscriptParts,
    workspaceId: string,
    body: (transcripts: LockedTranscripts) => Promise<T>,
  ): Promise<T> {
    return parts.store.locked(workspaceId, async () => {
      const transcripts = new LockedTranscripts(parts, workspaceId);
      await transcripts.#load();
      return await body(transcripts);
    });
  }

  async #load(): Promise<void> {
    const notes = await readNotes(this.#store, this.workspaceId);
    if (notes === null) this.#parts.report(`${notesName} of workspace ${this.workspaceId} is damaged; it is made anew`);
    else this.notes = notes;
    if (this.notes.intent !== null) await this.#finish(this.notes.intent);
  }

  get #store(): TranscriptStore {
    return this.#parts.store;
  }

  async save(notes: Notes): Promise<void> {
    await this.#store.write(this.workspaceId, notesName, { content: renderNotes(notes) });
    this.notes = notes;
  }

  nameOf(sessionId: string): string {
    return this.notes.current === sessionId ? currentName : asideName(sessionId);
  }

  look(name: string, note: SessionNote | null): Promise<Look> {
    return lookAt(this.#store, { workspaceId: this.workspaceId, name }, note);
  }

  /** Null where it is gone, too large, or not the file that has this stamp. */
  async contentOf(name: string, { stamp }: TranscriptFile): Promise<Uint8Array | null> {
    const read = await this.#store.read(this.workspaceId, name);
    return read?.stamp === stamp ? read.content : null;
  }

  lookAtCurrent(): Promise<Look> {
    return this.look(currentName, noteOf(this.notes, this.notes.current));
  }

  /** Whether `session.md` is the file that was found to be a person's before; told without reading it. */
  async isStillEdited(): Promise<boolean> {
    const { editedStamp } = this.notes;
    if (editedStamp === null) return false;
    return (await this.#store.stat(this.workspaceId, currentName))?.stamp === editedStamp;
  }

  /** What this look at `session.md` means. A file that cannot be read is put aside (W5). */
  async standing(look: Look): Promise<Standing> {
    const { current } = this.notes;
    if (look.kind === "same" && current !== null) return { kind: "own", sessionId: current };
    if (look.kind === "changed" && hasWords(look.messages)) {
      return { kind: "edited", file: look.file, messages: look.messages };
    }
    if (look.kind === "unreadable") {
      const kept = await this.keepAside(currentName, "unreadable");
      const warning = `the transcript cannot be read: ${look.reason}; it is kept as ${kept}, and the next session begins empty`;
      this.warnings.push(warning);
      this.#parts.report(`workspace ${this.workspaceId}: ${warning}`);
      await this.vacate();
    } else if (current !== null) await this.vacate();
    return { kind: "vacant" };
  }

  /** Notes that nothing lies at `session.md` from now on. */
  async vacate(): Promise<void> {
    await this.save({ ...this.#withoutCurrent(), vacatedAt: this.#parts.now() });
  }

  /** Notes that the file at `session.md` is a person's, and no session's. */
  async leaveToPerson({ stamp }: TranscriptFile): Promise<void> {
    await this.save({ ...this.#withoutCurrent(), editedStamp: stamp });
  }

  #withoutCurrent(): Notes {
    const { current } = this.notes;
    const others = current === null ? this.notes : withoutNote(this.notes, current);
    return { ...others, current: null, editedStamp: null };
  }

  /** Makes the file at `session.md` the transcript of the session that was begun with it. */
  async adopt(note: SessionNote): Promise<void> {
    const notes = this.#withoutCurrent();
    await this.#settle({ ...notes, current: note.id, vacatedAt: null }, note);
  }

  /** Puts the transcript of the current session beside those of earlier ones. Saves nothing. */
  async putCurrentAside(): Promise<void> {
    const { current } = this.notes;
    if (current === null) return;
    const aside = asideName(current);
    // What is there unnoted is not ours to replace.
    if ((await this.#store.stat(this.workspaceId, aside)) !== null) await this.keepAside(aside, "edited");
    const { stamp } = await this.#store.move(this.workspaceId, currentName, aside);
    const sessions = this.notes.sessions.map((note) => (note.id === current ? { ...note, stamp } : note));
    this.notes = { ...this.notes, current: null, sessions };
  }

  /** Gives a file a name under which nothing is read or written any more, and gives that name. */
  async keepAside(name: string, because: "edited" | "unreadable"): Promise<string> {
    for (let number = 1; ; number += 1) {
      const kept = keptName(name, { at: this.#parts.now(), because, number });
      if ((await this.#store.stat(this.workspaceId, kept)) !== null) continue;
      await this.#store.move(this.workspaceId, name, kept);
      return kept;
    }
  }

  /** Carries out a change. False: somebody changed the file meanwhile, and nothing was done. */
  async change(intent: Intent, content: { stamp: string | null; whole: Uint8Array | null }): Promise<boolean> {
    await this.save({ ...this.notes, intent });
    const file = await this.#write(intent, content);
    if (file === null) {
      await this.save({ ...this.notes, intent: null });
      return false;
    }
    await this.#complete(intent, file);
    return true;
  }

  async #write(
    { next, append }: Intent,
    { stamp, whole }: { stamp: string | null; whole: Uint8Array | null },
  ): Promise<TranscriptFile | null> {
    const name = this.nameOf(next.id);
    const condition = stamp === null ? {} : { stamp };
    if (whole !== null) return await this.#store.write(this.workspaceId, name, { ...condition, content: whole });
    if (append === null || stamp === null) return await this.#store.stat(this.workspaceId, name);
    return await this.#store.append(this.workspaceId, name, { stamp, content: Buffer.from(append.text) });
  }

  /** Finishes what somebody began who is gone; what was not begun on disk is dropped, for the next turn makes up for it. */
  async #finish(intent: Intent): Promise<void> {
    const aside = asideName(intent.next.id);
    const isAside = (await this.#store.stat(this.workspaceId, aside)) !== null;
    const name = isAside && this.notes.current !== intent.next.id ? aside : currentName;
    const file = await this.#finishFile(name, intent);
    if (file === null) await this.save({ ...this.notes, intent: null });
    else await this.#complete(intent, file);
  }

  async #finishFile(name: string, { next, append }: Intent): Promise<TranscriptFile | null> {
    const look = await this.look(name, next);
    if (look.kind === "same") return look.file;
    const note = noteOf(this.notes, next.id);
    if (look.kind === "absent" || append === null || note === null) return null;
    const added = Buffer.from(append.text);
    if (!isTornAppend(look.content, { note, at: append.at, added })) return null;
    const content = Buffer.concat([look.content.subarray(0, append.at), added]);
    return await this.#store.write(this.workspaceId, name, { content });
  }

  async #complete({ next, becomesCurrent }: Intent, { bytes, stamp }: TranscriptFile): Promise<void> {
    const note = { ...next, bytes, stamp };
    const moved = becomesCurrent && this.notes.current !== next.id ? await this.#makeCurrent(next.id) : null;
    const notes = { ...this.notes, intent: null };
    if (moved === null) await this.#settle(notes, note);
    else {
      const current = { current: next.id, vacatedAt: null, editedStamp: null };
      await this.#settle({ ...notes, ...current }, { ...note, stamp: moved.stamp });
    }
  }

  /** Brings a session's file to `session.md`. Null: what lies there is a person's, and stays. */
  async #makeCurrent(sessionId: string): Promise<TranscriptFile | null> {
    const aside = asideName(sessionId);
    // Both files were moved before the process ended that began it.
    if ((await this.#store.stat(this.workspaceId, aside)) === null) {
      return await this.#store.stat(this.workspaceId, currentName);
    }
    const look = await this.lookAtCurrent();
    if (look.kind === "same") await this.putCurrentAside();
    else if (look.kind === "changed" && !hasWords(look.messages) && this.notes.current === null) {
      await this.#store.remove(this.workspaceId, currentName);
    } else if (look.kind !== "absent") return null;
    return await this.#store.move(this.workspaceId, aside, currentName);
  }

  async #settle(before: Notes, note: SessionNote): Promise<void> {
    const { notes, pruned } = withNote(before, note);
    await this.save(notes);
    for (const { id, stamp } of pruned) {
      const file = await this.#store.stat(this.workspaceId, asideName(id));
      if (file?.stamp === stamp) await this.#store.remove(this.workspaceId, asideName(id));
    }
  }
}

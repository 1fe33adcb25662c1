/**
 * Writes a finished turn into the transcript of its session (W4), usually with one append. If the file lacks earlier turns,
 * they are written too, or the whole file is written again.
 */
import { limits } from "../../domain/limits.ts";
import type { TranscribedTurn, TranscriptMessage } from "../../domain/transcript.ts";
import { currentTranscriptName } from "../transcript-store.ts";
import { renderMessages, renderTranscript } from "./format.ts";
import { withFrontMatter, type FrontMatter } from "./front-matter.ts";
import type { LockedTranscripts } from "./locked-transcripts.ts";
import { isTornAppend, type TranscriptInspection } from "./inspect-transcript.ts";
import { noteOf, noteOn, emptyNote, type NotedTurn, type SessionNote } from "./notes.ts";

interface TurnMessages {
  turnId: string;
  messages: readonly TranscriptMessage[];
}

/** A change of one transcript, with the note that it has after the change. */
interface Change {
  note: SessionNote;
  appended: { at: number; text: string } | null;
  /** The stamp of the file to change. Null: there is no file. */
  stamp: string | null;
  /** The whole new content. Null if the change is only an append. */
  whole: Uint8Array | null;
}

/**
 * Writes turns in their order. Returns those of which nothing is written, because another writer changed the file in the meantime. Only the
 * turn `last` makes its session the current one: `session.md` would be moved for each of them, to be replaced at once.
 */
export async function writeTurns(
  transcripts: LockedTranscripts,
  turns: readonly TranscribedTurn[],
  last: TranscribedTurn | undefined,
): Promise<TranscribedTurn[]> {
  const left: TranscribedTurn[] = [];
  for (const turn of turns) {
    if (!(await writeTurn(transcripts, turn, { isLast: turn === last }))) left.push(turn);
  }
  return left;
}

async function writeTurn(
  transcripts: LockedTranscripts,
  given: TranscribedTurn,
  { isLast }: { isLast: boolean },
): Promise<boolean> {
  const turn = { ...given, earlier: once(given.earlier) };
  if (noteOf(transcripts.notes, turn.sessionId)?.turns.includes(turn.turnId) === true) return true;
  if (await transcripts.isStillEdited()) return await writeInto(transcripts, turn, { becomesCurrent: false });
  const current = await transcripts.inspectCurrent();
  const torn = await tornAppend(transcripts, turn, current);
  if (torn !== null) return await carryOut(transcripts, torn, false);
  const becomesCurrent = await mayBecomeCurrent(transcripts, turn, { current, isLast });
  return await writeInto(transcripts, turn, { becomesCurrent, current });
}

function once<T>(give: () => Promise<T>): () => Promise<T> {
  let given: Promise<T> | null = null;
  return () => (given ??= give());
}

/**
 * Returns true if the turn's session becomes the current one. A person's text in `session.md` waits for the session that
 * begins with it, and a session from before `session.md` was cleared does not fill it again (W5).
 */
async function mayBecomeCurrent(
  transcripts: LockedTranscripts,
  turn: TranscribedTurn,
  { current, isLast }: { current: TranscriptInspection; isLast: boolean },
): Promise<boolean> {
  const state = await transcripts.currentState(current);
  switch (state.kind) {
    case "own":
      return isLast;
    case "edited":
      await transcripts.leaveToPerson(state.file);
      return false;
    case "vacant": {
      const { vacatedAt } = transcripts.notes;
      return vacatedAt === null || turn.sessionCreatedAt >= vacatedAt || turn.parentTurnId === null;
    }
  }
}

async function writeInto(
  transcripts: LockedTranscripts,
  turn: TranscribedTurn,
  { becomesCurrent, current }: { becomesCurrent: boolean; current?: TranscriptInspection },
): Promise<boolean> {
  const note = noteOf(transcripts.notes, turn.sessionId);
  const name = transcripts.nameOf(turn.sessionId);
  const look =
    name === currentTranscriptName && current !== undefined ? current : await transcripts.inspect(name, note);
  const change = (await append(turn, note, look)) ?? (await makeAnew(transcripts, turn, look));
  if (change.whole !== null && (look.kind === "changed" || look.kind === "unreadable")) {
    await transcripts.keepAside(name, look.kind === "changed" ? "edited" : "unreadable");
  }
  return await carryOut(transcripts, change, becomesCurrent);
}

function carryOut(transcripts: LockedTranscripts, change: Change, becomesCurrent: boolean): Promise<boolean> {
  const { note, appended, ...content } = change;
  return transcripts.change({ next: note, append: appended, becomesCurrent }, content);
}

/** Plans an append, the usual case. Null if the file differs from its note, the turn does not follow its last turn, or the text is very large. */
async function append(
  turn: TranscribedTurn,
  note: SessionNote | null,
  look: TranscriptInspection,
): Promise<Change | null> {
  if (note === null || look.kind !== "same") return null;
  const turns = await turnsAfter(note.turns[0], turn);
  if (turns === null) return null;
  const { file, content } = look;
  const blocks = renderMessages(turns.flatMap(({ messages }) => messages));
  const text = blocks === "" || content === null || endsLine(content) ? blocks : `\n${blocks}`;
  if (!fitsInNotes(text)) return null;
  const next = {
    ...noteOn(note, { id: note.id, turns: named(turns, turn) }),
    bytes: file.bytes + Buffer.byteLength(text),
  };
  const appended = text === "" ? null : { at: file.bytes, text };
  return { note: next, appended, stamp: file.stamp, whole: null };
}

/** Returns true if the text is small enough for the notes, which contain an appended text before it is written. */
function fitsInNotes(text: string): boolean {
  return text.length <= limits.transcriptAppendCharactersMax;
}

/** Returns this turn and those between it and `head`, oldest first. Null if the turn does not follow `head`. */
async function turnsAfter(head: string | undefined, turn: TranscribedTurn): Promise<TurnMessages[] | null> {
  if (turn.parentTurnId === (head ?? null)) return [turn];
  const earlier = await earlierOf(turn);
  const index = earlier.findLastIndex(({ turnId }) => turnId === head);
  return index === -1 ? null : [...earlier.slice(index + 1), turn];
}

/** Names no turn for messages of a turn that can have none after it. */
function named(turns: readonly TurnMessages[], { turnId, isNoParent }: TranscribedTurn): NotedTurn[] {
  return turns.map((each) => (isNoParent === true && each.turnId === turnId ? { ...each, turnId: null } : each));
}

async function earlierOf(turn: TranscribedTurn): Promise<TurnMessages[]> {
  return turn.parentTurnId === null ? [] : await turn.earlier();
}

/** Plans the repair of an append that a crash interrupted before it was noted: `session.md` as noted, with the missing turns. Null if there is none. */
async function tornAppend(
  transcripts: LockedTranscripts,
  turn: TranscribedTurn,
  look: TranscriptInspection,
): Promise<Change | null> {
  const note = noteOf(transcripts.notes, turn.sessionId);
  if (note === null || transcripts.notes.current !== note.id) return null;
  if (look.kind !== "changed" && look.kind !== "unreadable") return null;
  const turns = await turnsAfter(note.turns[0], turn);
  if (turns === null) return null;
  const text = renderMessages(turns.flatMap(({ messages }) => messages));
  const added = Buffer.from(text);
  const at = note.bytes;
  if (!isTornAppend(look.content, { note, at, added })) return null;
  const whole = Buffer.concat([look.content.subarray(0, at), added]);
  const next = { ...noteOn(note, { id: note.id, turns: named(turns, turn) }), bytes: whole.length };
  return { note: next, appended: fitsInNotes(text) ? { at, text } : null, stamp: look.file.stamp, whole };
}

/** Plans the whole file: a copy of the transcript that ends at the turn's parent (a fork, K1), or all turns from the store. */
async function makeAnew(
  transcripts: LockedTranscripts,
  turn: TranscribedTurn,
  look: TranscriptInspection,
): Promise<Change> {
  const front = {
    provider: turn.provider,
    model: turn.model,
    createdAt: turn.sessionCreatedAt,
    sessionId: turn.sessionId,
  };
  const { note, text } = (await copyOfOrigin(transcripts, turn, front)) ?? (await rendered(turn, front));
  const whole = Buffer.from(text);
  const stamp = look.kind === "same" ? look.file.stamp : null;
  return { note: { ...note, bytes: whole.length }, appended: null, stamp, whole };
}

interface RenderedTranscript {
  note: SessionNote;
  text: string;
}

async function copyOfOrigin(
  transcripts: LockedTranscripts,
  turn: TranscribedTurn,
  front: FrontMatter,
): Promise<RenderedTranscript | null> {
  if (turn.parentTurnId === null) return null;
  const origin = transcripts.notes.sessions.find(
    ({ id, turns }) => id !== turn.sessionId && turns[0] === turn.parentTurnId,
  );
  if (origin === undefined) return null;
  const name = transcripts.nameOf(origin.id);
  const look = await transcripts.inspect(name, origin);
  if (look.kind !== "same") return null;
  const content = look.content ?? (await transcripts.contentOf(name, look.file));
  if (content === null) return null;
  const before = withFrontMatter(new TextDecoder().decode(content), front);
  const text = `${before}${endsLine(content) ? "" : "\n"}${renderMessages(turn.messages)}`;
  return { note: noteOn(origin, { id: turn.sessionId, turns: named([turn], turn) }), text };
}

async function rendered(turn: TranscribedTurn, front: FrontMatter): Promise<RenderedTranscript> {
  const turns = withPrompt([...(await earlierOf(turn)), turn], turn.prompt);
  const messages = turns.flatMap((each) => each.messages);
  return {
    note: noteOn(emptyNote, { id: turn.sessionId, turns: named(turns, turn) }),
    text: renderTranscript(front, messages),
  };
}

function withPrompt([first, ...rest]: readonly TurnMessages[], prompt: string | undefined): TurnMessages[] {
  if (first === undefined) return [];
  const begun = prompt === undefined ? [] : [{ role: "system", text: prompt } as const];
  return [{ turnId: first.turnId, messages: [...begun, ...first.messages] }, ...rest];
}

function endsLine(content: Uint8Array): boolean {
  return content.length === 0 || content.at(-1) === 0x0a;
}

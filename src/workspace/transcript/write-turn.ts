/**
 * A finished turn, written into the transcript of its session (W4): usually one append. Where the file does not have
 * what came before, the turns that are missing are written too, or the whole file is.
 */
import { limits } from "../../domain/limits.ts";
import type { TranscribedTurn, TranscriptMessage } from "../../domain/transcript.ts";
import { currentName } from "../transcript-store.ts";
import { renderMessages, renderTranscript } from "./format.ts";
import { withFrontMatter, type FrontMatter } from "./front-matter.ts";
import type { LockedTranscripts } from "./locked-transcripts.ts";
import { isTornAppend, type Look } from "./look.ts";
import { noteOf, noteOn, nothingNoted, type SessionNote } from "./notes.ts";

interface SaidTurn {
  turnId: string;
  messages: readonly TranscriptMessage[];
}

/** A change of one transcript, and the note that it then has. */
interface Change {
  note: SessionNote;
  appended: { at: number; text: string } | null;
  /** The file that is changed; null: whatever is there. */
  stamp: string | null;
  /** The whole file where it is not only appended to. */
  whole: Uint8Array | null;
}

/** False: somebody changed the file meanwhile, and nothing was written. */
export async function writeTurn(transcripts: LockedTranscripts, given: TranscribedTurn): Promise<boolean> {
  const turn = { ...given, earlier: once(given.earlier) };
  if (noteOf(transcripts.notes, turn.sessionId)?.turns.includes(turn.turnId) === true) return true;
  if (await transcripts.isStillEdited()) return await writeInto(transcripts, turn, { becomesCurrent: false });
  const current = await transcripts.lookAtCurrent();
  const torn = await tornAppend(transcripts, turn, current);
  if (torn !== null) return await carryOut(transcripts, torn, false);
  const becomesCurrent = await mayTakeThePlace(transcripts, turn, current);
  return await writeInto(transcripts, turn, { becomesCurrent, current });
}

function once<T>(give: () => Promise<T>): () => Promise<T> {
  let given: Promise<T> | null = null;
  return () => (given ??= give());
}

/**
 * Whether the turn's session becomes the current one. What a person wrote into `session.md` waits there for the session
 * that begins with it, and a session from before it was cleared does not fill it again (W5).
 */
async function mayTakeThePlace(transcripts: LockedTranscripts, turn: TranscribedTurn, current: Look): Promise<boolean> {
  const standing = await transcripts.standing(current);
  switch (standing.kind) {
    case "own":
      return true;
    case "edited":
      await transcripts.leaveToPerson(standing.file);
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
  { becomesCurrent, current }: { becomesCurrent: boolean; current?: Look },
): Promise<boolean> {
  const note = noteOf(transcripts.notes, turn.sessionId);
  const name = transcripts.nameOf(turn.sessionId);
  const look = name === currentName && current !== undefined ? current : await transcripts.look(name, note);
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

/** The usual case. Null: the file is not what was noted, the turn does not follow what is in it, or it is very large. */
async function append(turn: TranscribedTurn, note: SessionNote | null, look: Look): Promise<Change | null> {
  if (note === null || look.kind !== "same") return null;
  const turns = await turnsAfter(note.turns[0], turn);
  if (turns === null) return null;
  const { file, content } = look;
  const blocks = renderMessages(turns.flatMap(({ messages }) => messages));
  const text = blocks === "" || content === null || endsLine(content) ? blocks : `\n${blocks}`;
  if (!isNotable(text)) return null;
  const next = { ...noteOn(note, { id: note.id, turns }), bytes: file.bytes + Buffer.byteLength(text) };
  const appended = text === "" ? null : { at: file.bytes, text };
  return { note: next, appended, stamp: file.stamp, whole: null };
}

/** What is appended stands in the notes first, and they have to stay small enough to be read. */
function isNotable(text: string): boolean {
  return text.length <= limits.transcriptAppendCharactersMax;
}

/** This turn and those before it that come after `head`, oldest first. Null: it does not go on from there. */
async function turnsAfter(head: string | undefined, turn: TranscribedTurn): Promise<SaidTurn[] | null> {
  if (turn.parentTurnId === head) return [turn];
  const earlier = await earlierOf(turn);
  const index = earlier.findLastIndex(({ turnId }) => turnId === head);
  return index === -1 ? null : [...earlier.slice(index + 1), turn];
}

async function earlierOf(turn: TranscribedTurn): Promise<SaidTurn[]> {
  return turn.parentTurnId === null ? [] : await turn.earlier();
}

/** What a crash left of an append that was not noted, made whole: `session.md` as it was noted, with the turns that it lacks. */
async function tornAppend(transcripts: LockedTranscripts, turn: TranscribedTurn, look: Look): Promise<Change | null> {
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
  const next = { ...noteOn(note, { id: note.id, turns }), bytes: whole.length };
  return { note: next, appended: isNotable(text) ? { at, text } : null, stamp: look.file.stamp, whole };
}

/** The whole file: a copy of the one that ends where the turn goes on (a fork, K1), else what the store has. */
async function makeAnew(transcripts: LockedTranscripts, turn: TranscribedTurn, look: Look): Promise<Change> {
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

interface Page {
  note: SessionNote;
  text: string;
}

async function copyOfOrigin(
  transcripts: LockedTranscripts,
  turn: TranscribedTurn,
  front: FrontMatter,
): Promise<Page | null> {
  if (turn.parentTurnId === null) return null;
  const origin = transcripts.notes.sessions.find(
    ({ id, turns }) => id !== turn.sessionId && turns[0] === turn.parentTurnId,
  );
  if (origin === undefined) return null;
  const name = transcripts.nameOf(origin.id);
  const look = await transcripts.look(name, origin);
  if (look.kind !== "same") return null;
  const content = look.content ?? (await transcripts.contentOf(name, look.file));
  if (content === null) return null;
  const before = withFrontMatter(new TextDecoder().decode(content), front);
  const text = `${before}${endsLine(content) ? "" : "\n"}${renderMessages(turn.messages)}`;
  return { note: noteOn(origin, { id: turn.sessionId, turns: [turn] }), text };
}

async function rendered(turn: TranscribedTurn, front: FrontMatter): Promise<Page> {
  const turns = [...(await earlierOf(turn)), turn];
  const messages = turns.flatMap((said) => said.messages);
  return { note: noteOn(nothingNoted, { id: turn.sessionId, turns }), text: renderTranscript(front, messages) };
}

function endsLine(content: Uint8Array): boolean {
  return content.length === 0 || content.at(-1) === 0x0a;
}

/**
 * Folds the many small events of a stream (K6). In the exact bytes of a response, dozens of events differ only in a piece of the
 * answer and in a number that counts up. A run of them is written once, with the pieces one after the other, so that they are
 * again the text that stands elsewhere in the turn. Nothing depends on a provider: what does not look like this stays as it is.
 */
import { sharedEnd, sharedStart } from "../../../../system/shared-ends.ts";
import { ByteReader, ByteWriter } from "./byte-writer.ts";

/** The ends of events, as they stand in a text in JSON. */
const eventEnds = ["\\r\\n\\r\\n", "\\n\\n"];
/** A shorter run is not worth its description. */
const eventsMin = 6;
/** How much two events must have in common at their beginnings, in bytes. */
const sameBytesMin = 24;

/** A number that counts up, what follows it, and the character before it are in so many characters at the end of an event. */
const counterEndMax = 80;

/** Events that differ in one piece, and perhaps in a number. */
interface EventRun {
  before: string;
  after: string;
  /** The first number, and what follows it in every event. Null: no number counts up. */
  counter: { first: number; tail: string } | null;
  pieces: string[];
}

/** A text is one or more events that are in no run. */
type Part = string | EventRun;

/** Returns the folded bytes. Null if folding gains nothing. */
export function foldEvents(bytes: Uint8Array): Buffer | null {
  const text = latin1(bytes);
  const end = eventEnds.find((one) => text.includes(one));
  if (end === undefined) return null;
  const parts = partsOf(text.split(end), end);
  if (!parts.some((part) => typeof part !== "string")) return null;
  const folded = write(end, parts);
  return unfolded(folded) === text ? folded : null;
}

/** Returns the bytes that were folded. Throws `storage_failed` if they end too early. */
export function unfoldEvents(folded: Uint8Array): Buffer {
  return Buffer.from(unfolded(folded), "latin1");
}

/** Returns the text that was folded. Each byte is a character. */
function unfolded(folded: Uint8Array): string {
  const reader = new ByteReader(folded);
  const readText = (): string => latin1(reader.bytes(reader.number()));
  const end = readText();
  const events: string[] = [];
  for (let left = reader.number(); left > 0; left -= 1) {
    if (reader.byte() === 0) {
      events.push(readText());
      continue;
    }
    const [before, after] = [readText(), readText()];
    const counter = reader.byte() === 0 ? null : { first: reader.number(), tail: readText() };
    const lengths = readText().split(",").map(Number);
    const pieces = readText();
    let at = 0;
    for (const [index, length] of lengths.entries()) {
      const number = counter === null ? "" : `${counter.first + index}${counter.tail}`;
      events.push(before + pieces.slice(at, at + length) + after + number);
      at += length;
    }
  }
  return events.join(end);
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

function write(end: string, parts: readonly Part[]): Buffer {
  const writer = new ByteWriter();
  const writeText = (text: string): void => {
    writer.number(text.length);
    writer.bytes(Buffer.from(text, "latin1"));
  };
  writeText(end);
  writer.number(parts.length);
  for (const part of parts) {
    writer.byte(typeof part === "string" ? 0 : 1);
    if (typeof part === "string") {
      writeText(part);
      continue;
    }
    writeText(part.before);
    writeText(part.after);
    writer.byte(part.counter === null ? 0 : 1);
    if (part.counter !== null) {
      writer.number(part.counter.first);
      writeText(part.counter.tail);
    }
    // The events of the turn have the same lengths in the same form.
    writeText(part.pieces.map(({ length }) => length).join(","));
    writeText(part.pieces.join(""));
  }
  return writer.whole();
}

function partsOf(events: readonly string[], end: string): Part[] {
  const counts = events.map(counted);
  const parts: Part[] = [];
  let alone: string[] = [];
  for (let at = 0; at < events.length;) {
    const run = runFrom(events, counts, at);
    if (run === null) {
      alone.push(events[at] ?? "");
      at += 1;
      continue;
    }
    if (alone.length > 0) parts.push(alone.join(end));
    alone = [];
    parts.push(run);
    at += run.pieces.length;
  }
  return alone.length > 0 ? [...parts, alone.join(end)] : parts;
}

/** Returns the run that begins with an event. Null: there is none that is long enough. */
function runFrom(events: readonly string[], counts: readonly (CountedEvent | null)[], from: number): EventRun | null {
  const first = counts[from] ?? null;
  const begins = first !== null && counts[from + 1]?.number === first.number + 1 ? first : null;
  // An event of another kind begins like these for a few bytes only.
  const same = Math.max(sameBytesMin, Math.ceil(sharedStart(events[from] ?? "", events[from + 1] ?? "") / 2));
  const head = begins?.head ?? events[from] ?? "";
  if (head.length < same) return null;
  const begin = head.slice(0, same);
  const heads: string[] = [];
  for (let at = from; at < events.length; at += 1) {
    const event = events[at] ?? "";
    const numbered = begins === null ? null : (counts[at] ?? null);
    if (begins !== null && !follows(numbered, begins, heads.length)) break;
    const next = numbered?.head ?? event;
    if (heads.length > 0 && next.slice(0, same) !== begin) break;
    heads.push(next);
  }
  if (heads.length < eventsMin) return null;
  return { ...piecesOf(heads), counter: begins === null ? null : { first: begins.number, tail: begins.tail } };
}

function piecesOf(heads: readonly string[]): Pick<EventRun, "before" | "after" | "pieces"> {
  const [first = ""] = heads;
  // Most events share what those before them share, so the search for where they differ runs a few times only.
  let before = first;
  for (const head of heads)
    if (head.slice(0, before.length) !== before) before = before.slice(0, sharedStart(before, head));
  const start = before.length;
  let after = first.slice(start);
  for (const head of heads) {
    const room = Math.min(after.length, head.length - start);
    if (lastOf(head, room) !== after) after = lastOf(after, sharedEnd(after, head, room));
  }
  return { before, after, pieces: heads.map((head) => head.slice(start, head.length - after.length)) };
}

function lastOf(text: string, length: number): string {
  return text.slice(text.length - length);
}

function follows(event: CountedEvent | null, first: CountedEvent, distance: number): boolean {
  return event !== null && event.number === first.number + distance && event.tail === first.tail;
}

interface CountedEvent {
  head: string;
  number: number;
  tail: string;
}

/** Splits an event at its last number. Null: it has none that is written in the usual way. */
function counted(event: string): CountedEvent | null {
  const end = event.slice(-counterEndMax);
  const match = /(?<!\d)(0|[1-9]\d{0,8})(\D{0,64})$/.exec(end);
  if (match === null) return null;
  return {
    head: event.slice(0, event.length - end.length + match.index),
    number: Number(match[1]),
    tail: match[2] ?? "",
  };
}

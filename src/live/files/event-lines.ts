/**
 * The file of a running turn: one event per line as JSON, in order. The number of the line is the number of the event
 * (docs/formats/blobs.md). Whatever a crash leaves after the last whole line is ignored.
 */
import type { SequencedEvent, TurnEvent } from "../../domain/events.ts";

const newline = 10;

export interface ReadEventLines {
  events: SequencedEvent[];
  /** The length of the lines that were read, in bytes. After them comes nothing, or something that is no event. */
  length: number;
}

/** Returns the line of an event. JSON escapes newlines and lone surrogates, so any text is one line and comes back unchanged. */
export function eventLine(event: TurnEvent): string {
  return `${JSON.stringify(event)}\n`;
}

/** Reads up to the first incomplete line. `afterSeq` is the number of the event before these bytes. */
export function readEventLines(bytes: Buffer, afterSeq: number): ReadEventLines {
  const events: SequencedEvent[] = [];
  let length = 0;
  for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, length)) {
    const event = parseEvent(bytes.toString("utf8", length, end));
    if (event === null) break;
    events.push({ seq: afterSeq + events.length + 1, event });
    length = end + 1;
  }
  return { events, length };
}

function parseEvent(line: string): TurnEvent | null {
  try {
    const event: unknown = JSON.parse(line);
    return isEvent(event) ? event : null;
  } catch {
    return null;
  }
}

/** Returns whether the value is an event. Only this program writes the lines, so having a type is enough. */
function isEvent(value: unknown): value is TurnEvent {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

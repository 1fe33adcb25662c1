/** Joins adjacent pieces of one text, because a client need not get the model's chunks. */
import type { SequencedEvent, TurnEvent } from "../../../domain/events.ts";
import { endOfTick } from "../../../system/rounds.ts";

type TextDelta = Extract<TurnEvent, { type: "text_delta" | "reasoning_delta" }>;

/** No piece is added to a text of this length, in characters, so that no message becomes too long. */
const joinedLengthMax = 65_536;

interface HeldText {
  seq: number;
  event: TextDelta;
}

/** Yields the events, those up to the position `upTo` joined. A joined text has the position of its last piece. */
export async function* joined(
  events: AsyncIterable<SequencedEvent>,
  upTo = Infinity,
): AsyncGenerator<SequencedEvent, void, undefined> {
  let held: HeldText | null = null;
  for await (const sequenced of events) {
    const { seq } = sequenced;
    const more = seq <= upTo ? textOf(sequenced) : null;
    const whole: HeldText | null = held === null || more === null ? null : joinedPair(held, more);
    if (held !== null && whole === null) yield held;
    held = whole ?? more;
    if (held === null) yield sequenced;
    if (held === null || seq < upTo) continue;
    yield held;
    held = null;
  }
  if (held !== null) yield held;
}

/**
 * Yields the events, the pieces of a text that are there at the same time joined. A piece never waits for one that comes later. Those up to the
 * position `from` stay as they are. One event is read ahead.
 */
export async function* joinedAtOnce(
  events: AsyncIterable<SequencedEvent>,
  from: number,
): AsyncGenerator<SequencedEvent, void, undefined> {
  const source = events[Symbol.asyncIterator]();
  const read = (): Promise<Read> => source.next().catch((fault: unknown) => ({ fault }));
  let held: HeldText | null = null;
  let next = read();
  try {
    for (;;) {
      const result: Read | null = held === null ? await next : await Promise.race([next, nothingMore()]);
      const sequenced: SequencedEvent | null =
        result === null || "fault" in result || result.done === true ? null : result.value;
      if (sequenced !== null) next = read();
      const more: HeldText | null = sequenced === null || sequenced.seq <= from ? null : textOf(sequenced);
      const whole: HeldText | null = held === null || more === null ? null : joinedPair(held, more);
      if (held !== null && whole === null) yield held;
      held = whole ?? more;
      if (sequenced !== null && held === null) yield sequenced;
      if (result === null || sequenced !== null) continue;
      if ("fault" in result) throw result.fault;
      return;
    }
  } finally {
    // It may wait for the next event of the turn, so nothing waits for it.
    source.return?.().catch(() => undefined);
  }
}

/** The next event, the end, or an error, which is thrown after what came before it. */
type Read = IteratorResult<SequencedEvent> | { fault: unknown };

/** Resolves when everything that came with the last event was handled. */
async function nothingMore(): Promise<null> {
  await endOfTick();
  return null;
}

/** Returns one text. Null: the two are pieces of different texts, or the first is long enough. */
function joinedPair(one: HeldText, next: HeldText): HeldText | null {
  const { event } = one;
  if (event.delta.length >= joinedLengthMax) return null;
  if (event.type !== next.event.type || event.messageId !== next.event.messageId) return null;
  return { seq: next.seq, event: { ...event, delta: event.delta + next.event.delta } };
}

function textOf({ seq, event }: SequencedEvent): HeldText | null {
  return event.type === "text_delta" || event.type === "reasoning_delta" ? { seq, event } : null;
}

/** Joins adjacent pieces of one text, because a replay need not repeat the model's chunks. */
import type { SequencedEvent, TurnEvent } from "../../../domain/events.ts";

type TextDelta = Extract<TurnEvent, { type: "text_delta" | "reasoning_delta" }>;

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
    const { seq, event } = sequenced;
    const more: HeldText | null = seq <= upTo && isText(event) ? { seq, event } : null;
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

/** Returns one text, or null if the two are pieces of different texts. */
function joinedPair(one: HeldText, next: HeldText): HeldText | null {
  const { event } = one;
  if (event.type !== next.event.type || event.messageId !== next.event.messageId) return null;
  return { seq: next.seq, event: { ...event, delta: event.delta + next.event.delta } };
}

function isText(event: TurnEvent): event is TextDelta {
  return event.type === "text_delta" || event.type === "reasoning_delta";
}

/** Pieces of a text that are there at once become one. Nothing is lost, held back or put in another order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SequencedEvent, TurnEvent } from "../../../domain/events.ts";
import { joinedAtOnce } from "./joined-events.ts";

const text = (delta: string, messageId = "m"): TurnEvent => ({ type: "text_delta", messageId, delta });
const end: TurnEvent = { type: "text_ended", messageId: "m" };

/** The events as a source, which waits where a promise stands, and throws an error that stands among them. */
async function* source(...parts: (TurnEvent | Promise<void> | Error)[]): AsyncGenerator<SequencedEvent> {
  let seq = 0;
  for (const part of parts) {
    if (part instanceof Error) throw part;
    if (part instanceof Promise) await part;
    else yield { seq: (seq += 1), event: part };
  }
}

async function shown(events: AsyncIterable<SequencedEvent>, to: string[] = []): Promise<string[]> {
  for await (const { seq, event } of events) {
    to.push(`${seq} ${event.type === "text_delta" ? event.delta : event.type}`);
  }
  return to;
}

test("[P1] pieces that are there at once are joined, up to where another text or another event stands", async () => {
  const events = source(text("a"), text("b"), text("c", "other"), end, text("d"), text("e"));
  assert.deepEqual(await shown(joinedAtOnce(events, 0)), ["2 ab", "3 c", "4 text_ended", "6 de"]);
});

test("[P1] the pieces that the client has already keep their positions", async () => {
  const events = source(text("a"), text("b"), text("c"), text("d"));
  assert.deepEqual(await shown(joinedAtOnce(events, 2)), ["1 a", "2 b", "4 cd"]);
});

test("[R5] a piece is sent while the next one is awaited, and before the error that comes in its place", async () => {
  const later = Promise.withResolvers<void>();
  const sent: string[] = [];
  const all = shown(joinedAtOnce(source(text("a"), later.promise, text("b"), new Error("broken")), 0), sent);
  while (sent.length === 0) await new Promise(setImmediate);
  assert.deepEqual(sent, ["1 a"]);
  later.resolve();
  await assert.rejects(all, /broken/);
  assert.deepEqual(sent, ["1 a", "2 b"]);
});

test("[P1] a text that is long enough is not joined further", async () => {
  const long = "x".repeat(70_000);
  assert.deepEqual(
    (await shown(joinedAtOnce(source(text(long), text("a"), text("b")), 0))).map((line) => line.length),
    [70_002, 4],
  );
});

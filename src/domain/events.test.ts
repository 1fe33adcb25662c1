import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../testing/any-character.ts";
import { joinDeltas, splitDeltas, type TurnEvent } from "./events.ts";
import { noUsage } from "./usage.ts";

const id = fc.constantFrom("m1", "m2", "c1");
const plain = { noNullPrototype: true };
const text = fc.string({ unit: anyCharacter, maxLength: 12 });
const event: fc.Arbitrary<TurnEvent> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant("text_delta" as const), messageId: id, delta: text }, plain) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("reasoning_delta" as const), messageId: id, delta: text }, plain),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("tool_call_delta" as const), callId: id, delta: text }, plain),
  },
  fc.record({ type: fc.constant("text_started" as const), messageId: id }, plain),
  fc.record({ type: fc.constant("text_ended" as const), messageId: id }, plain),
  fc.constant<TurnEvent>({ type: "step_finished", step: 1, usage: noUsage }),
);

test("[V2] kept events give every event back exactly, also through JSON", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const kept: unknown = JSON.parse(JSON.stringify(joinDeltas(events)));
      assert.deepEqual(splitDeltas(kept as ReturnType<typeof joinDeltas>), events);
    }),
  );
});

test("[V2] neighbouring deltas of one message are kept as one", () => {
  const deltas = ["a", "b", "c"].map((delta): TurnEvent => ({ type: "text_delta", messageId: "m1", delta }));
  assert.deepEqual(joinDeltas(deltas), [
    { type: "joined", of: "text_delta", id: "m1", text: "abc", lengths: [1, 1, 1] },
  ]);
});

/** Fields of a request for a turn that contradict each other (T5–T7). Every door and the library refuse them, because one of them would be ignored. */

/** A pair of fields, with the reason. */
export type Contradiction = readonly [field: string, other: string, why: string];

export const contradictions = [
  ["fork", "sessionId", "a fork starts a new session"],
  ["fork", "rerun", "a rerun is always placed beside the turn that it repeats"],
  ["rerun", "sessionId", "a rerun is always placed beside the turn that it repeats"],
  ["retry", "fork", "a retry runs the newest turn of its session again"],
  ["retry", "rerun", "a retry runs the newest turn of its session again"],
  ["retry", "fire", "a retry repeats the input of its turn"],
  ["fire", "fork", "a mailbox is delivered to the head of its own session"],
  ["fire", "rerun", "a rerun repeats the input of its turn"],
] as const satisfies readonly Contradiction[];

/** Fields that cannot be sent to a running turn. */
const notSteered = ["input", "toolResults", "rerun", "retry", "fork", "fire", "compact"] as const;

/** Returns the fields that contradict another one, each with the words that follow it. */
export function* contradictionsIn(
  request: Readonly<Record<string, unknown>>,
  pairs: readonly Contradiction[] = contradictions,
): Generator<{ field: string; message: string }, undefined> {
  for (const [field, other, why] of pairs) {
    if (!says(request[field]) || !says(request[other])) continue;
    yield { field, message: `cannot be combined with ${other}: ${why}` };
  }
  if (request["ifBusy"] !== "steer") return;
  for (const field of notSteered) {
    if (!says(request[field])) continue;
    const message = `is "steer" and cannot be combined with ${field}: a running turn accepts only a message`;
    yield { field: "ifBusy", message };
  }
}

function says(value: unknown): boolean {
  return value !== "" && value !== false && value !== null && value !== undefined;
}
